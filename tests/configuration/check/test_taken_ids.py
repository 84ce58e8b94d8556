"""A dedicated controller and a broker cannot have the same id; a start waits for the session of a node that has just
stopped (F15)."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.config.start_error import StartError
from signalbox.configuration.check.taken_ids import reject_taken_id
from signalbox.metadata.layout import broker_id_path, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from tests.configuration.settings import controller_config_of

CONFIG = controller_config_of(broker__session__timeout__ms="100")
pytestmark = pytest.mark.spec("F15")


async def stores() -> tuple[MemoryMetadataStore, MemoryMetadataStore]:
    shared = SharedEntries()
    mine, theirs = MemoryMetadataStore(shared), MemoryMetadataStore(shared)
    for store in (mine, theirs):
        await store.open_session()
    await create_roots(mine)
    await theirs.commit([Create(broker_id_path(101), of_session=True)])
    return mine, theirs


def test_the_id_of_a_live_broker() -> None:
    async def scenario() -> None:
        mine, _ = await stores()
        with pytest.raises(StartError, match=r"node\.id \(101\): a broker is registered with it"):
            await reject_taken_id(mine, CONFIG, broker_id_path(101), "a broker")
        await reject_taken_id(mine, CONFIG, broker_id_path(102), "a broker")

    asyncio.run(scenario())


def test_the_id_of_a_broker_that_ends_meanwhile() -> None:
    async def scenario() -> None:
        mine, theirs = await stores()
        waiting = asyncio.ensure_future(reject_taken_id(mine, CONFIG, broker_id_path(101), "a broker"))
        await theirs.close()
        await waiting

    asyncio.run(scenario())
