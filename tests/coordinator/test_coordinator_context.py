from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.coordinator.bench import settle, transcript
from tests.coordinator.test_runtime import Desk, note

from signalbox.coordinator.coordinator_context import REJECTION, Phase
from signalbox.coordinator.decision import Decision
from signalbox.protocol.error_table import Error


def test_only_an_active_context_accepts_requests() -> None:
    assert set(REJECTION) == set(Phase)
    assert [phase for phase, error in REJECTION.items() if error is Error.NONE] == [Phase.ACTIVE]


@transcript
async def test_a_sweep_ends_with_leadership() -> None:
    desk = Desk()
    shard = await desk.elect()

    def endless() -> Iterator[Decision[None]]:
        while True:
            yield note("swept", "yes")

    desk.runtime.sweep(0, lambda shard: endless())
    desk.log.lose(0)
    desk.runtime.on_resigned(0)
    await settle()
    assert shard.events == ["loaded", "unloaded"]
    assert shard.notes == {}


@transcript
async def test_a_sweep_whose_decisions_all_fail_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    await desk.elect()
    for error in (Error.NOT_ENOUGH_REPLICAS, None, Error.NOT_ENOUGH_REPLICAS):
        desk.log.rejection = error
        desk.runtime.sweep(0, lambda shard: iter([note(key, "yes") for key in "abc"]))
        await settle()
    lines = [row.getMessage() for row in caplog.records if "not written" in row.getMessage()]
    assert len(lines) == 2, "one for each time that it began to fail"
    assert lines[0].startswith("Coordinator records of __consumer_offsets-0 not written: NOT_ENOUGH_REPLICAS")
