"""The audit trail is written to its topic, and drained when a node stops."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.server.audit_writer import AuditWriter


class Recorder:
    """The calls of everything that an audit writer uses, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.telemetry: Any = SimpleNamespace(
            rollups=SimpleNamespace(flush=lambda: self.calls.append("roll-ups")), audit=self
        )
        self.delivery: Any = SimpleNamespace(close=self.close_delivery)

    async def write(self, broker_epoch: int, delivery: object) -> None:
        self.calls.append(f"write {broker_epoch}")

    async def drain(self, delivery: object, timeout_s: float) -> None:
        self.calls.append(f"drain {timeout_s}")

    async def close(self) -> None:
        self.calls.append("close trail")

    async def close_delivery(self) -> None:
        self.calls.append("close delivery")

    def writer(self, enabled: bool) -> AuditWriter:
        return AuditWriter(self.telemetry, self.delivery, enabled, lambda: self.calls.append("connections"))


@pytest.mark.parametrize(("enabled", "calls"), [(True, ["roll-ups", "connections", "drain 2.0"]), (False, [])])
def test_roll_ups_and_connections_are_recorded_before_the_trail_is_drained(enabled: bool, calls: list[str]) -> None:
    recorder = Recorder()
    asyncio.run(recorder.writer(enabled).drain(2.0))
    assert recorder.calls == calls


def test_events_are_written_with_the_broker_epoch_and_the_delivery_ends_last() -> None:
    recorder = Recorder()
    writer = recorder.writer(enabled=True)

    async def scenario() -> None:
        await writer.write(9)
        writer.flush_rollups()
        await writer.close()

    asyncio.run(scenario())
    assert recorder.calls == ["write 9", "roll-ups", "close trail", "close delivery"]
