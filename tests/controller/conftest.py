from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from tests.controller.cluster import Scenario


@pytest.fixture(params=["memory", "sqlite"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    """Runs a scenario with a factory of participants of one store."""

    def run_scenario(scenario: Scenario) -> None:
        async def within() -> None:
            shared, made = SharedEntries(), []

            def participant() -> Any:
                store = (
                    MemoryMetadataStore(shared)
                    if request.param == "memory"
                    else SqliteMetadataStore(tmp_path / "metadata.db")
                )
                made.append(store)
                return store

            try:
                async with asyncio.timeout(60):
                    await scenario(participant)
            finally:
                for store in made:
                    await store.close()

        asyncio.run(within())

    return run_scenario
