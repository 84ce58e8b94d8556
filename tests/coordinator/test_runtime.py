from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from tests.common.waiting.manual_time import ManualTimers
from tests.coordinator.bench import scheduler_of_one_slice, settle, transcript
from tests.coordinator.memory_log import MemoryLog
from tests.coordinator.test_batch_builder import TextSerde
from tests.waiting import until_true

from signalbox.broker.api_request import as_future
from signalbox.common.clock import ManualClock, SystemClock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision, nothing
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType, new_member_suffix
from signalbox.protocol.error_table import Error, KafkaError


class Notes:
    """A shard that is no group shard: a dictionary."""

    def __init__(self, partition: int, timer: Timer) -> None:
        self.partition = partition
        self.timer = timer
        self.notes: dict[str, str] = {}
        self.events: list[str] = []

    def replay(self, record: CoordinatorRecord) -> None:
        assert record.value is not None
        self.notes[record.key] = record.value

    def finish_loading(self) -> Iterator[None]:
        self.events.append("loaded")
        yield

    def unload(self) -> Iterator[None]:
        yield
        self.events.append("unloaded")

    def maintenance(self) -> Iterator[Decision[None]]:
        yield note("chore", str(len(self.notes)))


def note(key: str, value: str) -> Decision[None]:
    return Decision(None, [CoordinatorRecord(key, value)])


class Desk:
    def __init__(self, settings: RuntimeSettings | None = None, scheduler: TaskScheduler | None = None) -> None:
        self.log = MemoryLog()
        self.clock = ManualClock()
        self.timers = ManualTimers(self.clock)
        self.shards: list[Notes] = []
        shards, scheduler = ShardType(self.make_shard, TextSerde()), scheduler or scheduler_of_one_slice()
        deadlines = Deadlines(self.clock, self.timers)
        self.runtime = CoordinatorRuntime(self.log, shards, deadlines, scheduler, settings or RuntimeSettings())

    def make_shard(self, partition: int, timer: Timer) -> Notes:
        self.shards.append(Notes(partition, timer))
        return self.shards[-1]

    async def elect(self, partition: int = 0, leader_epoch: int = 1) -> Notes:
        self.log.lead(partition, leader_epoch)
        await reply_of(self.runtime.on_elected(partition, leader_epoch))
        return self.shards[-1]

    async def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()
        await settle()


Result = TypeVar("Result")


async def reply_of(answer: Promise[Result]) -> Result:
    return await as_future(answer)


def rejection(answer: Promise[Any]) -> Error | None:
    assert answer.error is None or isinstance(answer.error, KafkaError)
    return None if answer.error is None else answer.error.error


@transcript
async def test_what_was_written_is_there_after_the_next_election() -> None:
    desk = Desk()
    await desk.elect()
    written = desk.runtime.write(0, lambda shard: note("k", "v"))
    await reply_of(written)
    assert desk.shards[0].notes == {"k": "v"}
    desk.runtime.on_resigned(0, 1)
    successor = await desk.elect(leader_epoch=2)
    assert successor.notes == {"k": "v"}
    assert successor.events == ["loaded"]


@transcript
async def test_before_during_and_after_leadership() -> None:
    desk = Desk()
    assert rejection(desk.runtime.read(0, lambda shard: 1)) is Error.NOT_COORDINATOR
    desk.log.lead(0, 1)
    loading = desk.runtime.on_elected(0, 1)
    assert rejection(desk.runtime.read(0, lambda shard: 1)) is Error.COORDINATOR_LOAD_IN_PROGRESS
    assert desk.runtime.active_shards() == []
    await reply_of(loading)
    assert desk.runtime.read(0, lambda shard: 1).result() == 1
    desk.runtime.on_resigned(0)
    assert rejection(desk.runtime.read(0, lambda shard: 1)) is Error.NOT_COORDINATOR
    await settle()
    assert desk.shards[0].events == ["loaded", "unloaded"]


@transcript
async def test_elections_and_resignations_of_the_past_are_ignored() -> None:
    desk = Desk()
    shard = await desk.elect(leader_epoch=5)
    desk.runtime.on_elected(0, 5)
    desk.runtime.on_elected(0, 4)
    desk.runtime.on_resigned(0, 4)
    assert desk.runtime.active_shards() == [shard]
    await reply_of(desk.runtime.write(0, lambda shard: note("k", "v")))
    assert shard.notes == {"k": "v"}


@transcript
async def test_a_leader_that_stays_at_a_newer_epoch_keeps_its_shard() -> None:
    desk = Desk()
    shard = await desk.elect(leader_epoch=5)
    await desk.elect(leader_epoch=6)
    assert desk.runtime.active_shards() == [shard]
    await reply_of(desk.runtime.write(0, lambda shard: note("k", "v")))
    assert (shard.notes, shard.events) == ({"k": "v"}, ["loaded"])
    desk.runtime.on_resigned(0, 5)
    assert desk.runtime.active_shards() == [shard]
    desk.runtime.on_resigned(0, 7)
    assert desk.runtime.active_shards() == []


@transcript
async def test_an_election_while_loading_goes_on_loading() -> None:
    desk = Desk()
    desk.log.lead(0, 2)
    loading = desk.runtime.on_elected(0, 1)
    desk.runtime.on_elected(0, 2)
    await reply_of(loading)
    await reply_of(desk.runtime.write(0, lambda shard: note("k", "v")))
    assert [shard.notes for shard in desk.shards] == [{"k": "v"}]


@transcript
async def test_a_resignation_while_loading_ends_the_load() -> None:
    desk = Desk()
    desk.log.lead(0, 1)
    loading = desk.runtime.on_elected(0, 1)
    desk.runtime.on_resigned(0, 1)
    await reply_of(loading)
    await settle()
    assert desk.shards[0].events == ["unloaded"]
    assert desk.runtime.partitions() == []


@transcript
async def test_a_partition_that_cannot_be_read_sends_everybody_away_until_the_next_election() -> None:
    desk = Desk()
    await reply_of(desk.runtime.on_elected(0, 1))
    assert rejection(desk.runtime.read(0, lambda shard: 1)) is Error.NOT_COORDINATOR
    await desk.elect(leader_epoch=2)
    assert desk.runtime.read(0, lambda shard: 1).result() == 1


@transcript
async def test_a_rejection_of_the_decision_is_the_answer() -> None:
    desk = Desk()
    await desk.elect()

    def reject(shard: Notes) -> Decision[None]:
        raise KafkaError(Error.GROUP_ID_NOT_FOUND)

    assert rejection(desk.runtime.write(0, reject)) is Error.GROUP_ID_NOT_FOUND


@transcript
async def test_a_write_under_way_when_leadership_goes_is_rejected_and_not_replayed() -> None:
    desk = Desk()
    shard = await desk.elect()
    desk.log.held = True
    written = desk.runtime.write(0, lambda shard: note("k", "v"))
    await settle()
    desk.runtime.on_resigned(0, 1)
    assert rejection(written) is Error.NOT_COORDINATOR
    desk.log.commit_all()
    await settle()
    assert shard.notes == {}


@transcript
async def test_leadership_lost_before_the_hook_is_called() -> None:
    desk = Desk()
    shard = await desk.elect()
    desk.log.held = True
    under_way = desk.runtime.write(0, lambda shard: note("k", "v"))
    await settle()
    desk.log.lose(0)
    late = desk.runtime.write(0, lambda shard: note("l", "v"))
    await settle()
    assert rejection(under_way) is rejection(late) is Error.NOT_LEADER_OR_FOLLOWER
    assert shard.notes == {}


@transcript
async def test_a_log_that_breaks_in_an_unknown_way_is_an_unknown_error() -> None:
    desk = Desk()
    await desk.elect()
    desk.log.held = True
    written = desk.runtime.write(0, lambda shard: note("k", "v"))
    await settle()
    desk.log.fail_all(OSError("disk on fire"))
    await settle()
    assert rejection(written) is Error.UNKNOWN_SERVER_ERROR


@transcript
async def test_reads_after_writes_see_them() -> None:
    desk = Desk()
    await desk.elect()
    desk.log.held = True
    assert desk.runtime.read_after_writes(0, lambda shard: dict(shard.notes)).result() == {}
    desk.runtime.write(0, lambda shard: note("k", "v"))
    early = desk.runtime.read(0, lambda shard: dict(shard.notes))
    stable = desk.runtime.read_after_writes(0, lambda shard: dict(shard.notes))
    await settle()
    assert (early.result(), stable.is_done) == ({}, False)
    desk.log.commit_all()
    await settle()
    assert stable.result() == {"k": "v"}


@transcript
async def test_a_read_that_waits_is_rejected_when_leadership_goes() -> None:
    desk = Desk()
    await desk.elect()
    desk.log.held = True
    desk.runtime.write(0, lambda shard: note("k", "v"))
    stable = desk.runtime.read_after_writes(0, lambda shard: 1)
    desk.runtime.on_resigned(0)
    assert rejection(stable) is Error.NOT_COORDINATOR


@transcript
async def test_deadlines_decide_and_write() -> None:
    desk = Desk()
    shard = await desk.elect()
    shard.timer.schedule("k", 1_000, lambda: note("due", "yes"))
    shard.timer.schedule("cancelled", 1_000, lambda: note("cancelled", "no"))
    shard.timer.cancel("cancelled")
    await desk.pass_time(999)
    assert shard.notes == {}
    await desk.pass_time(1)
    assert shard.notes == {"due": "yes"}


@transcript
async def test_deadlines_of_two_partitions_do_not_meet() -> None:
    desk = Desk()
    one, two = await desk.elect(0), await desk.elect(1)
    one.timer.schedule("k", 1_000, lambda: note("due", "one"))
    two.timer.schedule("k", 1_000, lambda: note("due", "two"))
    await desk.pass_time(1_000)
    assert (one.notes, two.notes) == ({"due": "one"}, {"due": "two"})


@transcript
async def test_deadlines_of_a_closed_partition_are_silent() -> None:
    desk = Desk()
    shard = await desk.elect()
    ran: list[int] = []

    def decide() -> Decision[None]:
        ran.append(1)
        return nothing()

    shard.timer.schedule("k", 1_000, decide)
    desk.runtime.on_resigned(0)
    await desk.pass_time(2_000)
    assert ran == []


@transcript
async def test_a_deadline_that_fails_is_logged_and_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    shard = await desk.elect()

    def break_down() -> Decision[None]:
        raise ValueError("a mistake")

    shard.timer.schedule("a", 1_000, break_down)
    shard.timer.schedule("b", 1_000, lambda: note("b", "ran"))
    await desk.pass_time(1_000)
    assert shard.notes == {"b": "ran"}
    assert "a mistake" in caplog.text


@transcript
async def test_the_loop_itself_keeps_deadlines_by_a_real_clock() -> None:
    log = MemoryLog()
    log.lead(0, 1)
    shards: list[Notes] = []

    def make_shard(partition: int, timer: Timer) -> Notes:
        shards.append(Notes(partition, timer))
        return shards[-1]

    loop = asyncio.get_running_loop()
    deadlines, shard_type = Deadlines(SystemClock(), loop), ShardType(make_shard, TextSerde())
    runtime = CoordinatorRuntime(log, shard_type, deadlines, TaskScheduler(loop), RuntimeSettings())
    await reply_of(runtime.on_elected(0, 1))
    rang = asyncio.Event()

    def decide() -> Decision[None]:
        rang.set()
        return nothing()

    shards[0].timer.schedule("late", 60_000, nothing)
    shards[0].timer.schedule("soon", 5, decide)
    await asyncio.wait_for(rang.wait(), 60)
    await as_future(runtime.stop())
    assert shards[0].events == ["loaded", "unloaded"]


@transcript
async def test_chores_come_round() -> None:
    desk = Desk(RuntimeSettings(maintenance_interval_ms=1_000))
    shard = await desk.elect()
    await desk.pass_time(1_000)
    assert shard.notes == {"chore": "0"}
    await desk.pass_time(1_000)
    assert shard.notes == {"chore": "1"}


@transcript
async def test_a_sweep_reaches_the_active_shard_of_its_partition() -> None:
    desk = Desk()
    for partition in range(3):
        await desk.elect(partition)
    desk.runtime.sweep(2, lambda shard: iter([note("swept", str(shard.partition)), nothing()]))
    await settle()
    assert [shard.notes for shard in desk.shards] == [{}, {}, {"swept": "2"}]


@transcript
async def test_long_loads_leave_the_loop_to_others() -> None:
    scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
    desk = Desk(scheduler=scheduler)
    await desk.elect()
    for number in range(3_000):
        desk.runtime.write(0, lambda shard, number=number: note(f"k{number}", "v"))  # type: ignore[misc]
    await settle()
    desk.runtime.on_resigned(0)
    desk.log.lead(0, 2)
    loading = desk.runtime.on_elected(0, 2)
    before = scheduler.slices
    while not loading.is_done:  # noqa: ASYNC110 - the test waits for rounds of the loop
        await asyncio.sleep(0)
    assert len(desk.shards[-1].notes) == 3_000
    assert scheduler.slices - before > 3_000


@transcript
async def test_writes_linger_for_the_configured_time() -> None:
    desk = Desk(RuntimeSettings(append_linger_ms=20))
    shard = await desk.elect()
    first = desk.runtime.write(0, lambda shard: note("a", "1"))
    await settle()
    second = desk.runtime.write(0, lambda shard: note("b", "2"))
    assert not first.is_done
    await reply_of(second)
    assert shard.notes == {"a": "1", "b": "2"}
    assert len(desk.log.batches[0]) == 1


def test_member_ids_are_unique() -> None:
    assert uuid.UUID(new_member_suffix()) != uuid.UUID(new_member_suffix())


@transcript
async def test_partitions_that_come_and_go_together_are_one_line_of_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "signalbox.coordinator.runtime")
    desk = Desk()
    for partition in (2, 0, 1):
        desk.log.lead(partition, 5)
        desk.runtime.on_elected(partition, 5)
        await settle()  # loaded one after the other
    await until_true(lambda: len(caplog.records) == 1)
    desk.runtime.on_resigned(2, 6)
    await until_true(lambda: len(caplog.records) == 2)
    became, resigned = caplog.messages
    assert became == "Became coordinator for 3 partitions: __consumer_offsets-0..2"
    assert resigned == "Resigned as coordinator for 1 partition: __consumer_offsets-2"
