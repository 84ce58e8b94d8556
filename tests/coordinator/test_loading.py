from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.coordinator.memory_log import MemoryLog
from tests.coordinator.test_batch_builder import TextSerde

from signalbox.broker.api_request import as_future
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.decision import CoordinatorRecord, TransactionEnd
from signalbox.coordinator.loading import MAX_READ_BYTES, load_steps, run_in_slices
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_batch import Record, encode_batch


class PickySerde(TextSerde):
    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        return None if key.startswith(b"?") else super().decode(key, value)


def log_of(*batches: bytes) -> MemoryLog:
    log = MemoryLog()
    log.lead(0, 1)

    async def fill() -> None:
        for batch in batches:
            await as_future(log.append(0, 1, bytearray(batch)))

    asyncio.run(fill())
    return log


def load(log: MemoryLog, buffer_bytes: int = 1_000_000) -> list[CoordinatorRecord]:
    replayed: list[CoordinatorRecord] = []
    for _ in load_steps(log, 0, PickySerde(), replayed.append, buffer_bytes):
        pass
    return replayed


def batch(*keys: str | None, **fields: object) -> bytes:
    rows = [Record(key=None if key is None else key.encode(), value=b"v", timestamp=1) for key in keys]
    return encode_batch(rows, **fields)  # type: ignore[arg-type]


def test_everything_is_replayed_in_order() -> None:
    log = log_of(batch("a", "b"), batch("c", compression="zstd"), batch("d"))
    assert [record.key for record in load(log)] == ["a", "b", "c", "d"]


def test_an_empty_log_is_loaded_at_once() -> None:
    log = log_of()
    assert load(log) == []
    assert log.reads == []


def test_small_buffers_take_more_reads_and_read_the_same() -> None:
    log = log_of(*(batch(f"k{number}") for number in range(20)))
    assert len(load(log, buffer_bytes=100)) == 20
    assert len(log.reads) == 20


def test_a_read_never_exceeds_what_fits_into_a_slice() -> None:
    large = batch(*("x" * 1_000 for _ in range(30)))
    log = log_of(*(large for _ in range(10)))
    assert len(load(log, buffer_bytes=10_000_000)) == 300
    assert len(log.reads) >= 10 * len(large) // MAX_READ_BYTES


def test_unknown_kinds_and_keyless_records_are_skipped() -> None:
    log = log_of(
        batch("a", "?later", None),
        batch("no marker", control=True, transactional=True, producer_id=7, producer_epoch=0),
        batch("b"),
    )
    assert [record.key for record in load(log)] == ["a", "b"]


@pytest.mark.spec("D5")
def test_records_of_a_transaction_have_its_producer_id_and_markers_end_it() -> None:
    marker = {"control": True, "transactional": True, "producer_id": 7, "producer_epoch": 0}
    log = log_of(
        batch("pending", transactional=True, producer_id=7, producer_epoch=0, base_sequence=0),
        batch("\0\0\0\1", **marker),
        batch("\0\0\0\0", **marker),
        batch("\0\0\0\5", **marker),
        batch("idempotent", producer_id=8, producer_epoch=0, base_sequence=0),
    )
    assert load(log) == [
        CoordinatorRecord("pending", "v", 7),
        CoordinatorRecord(TransactionEnd(True), None, 7),
        CoordinatorRecord(TransactionEnd(False), None, 7),
        CoordinatorRecord("idempotent", "v"),
    ]


def test_it_stops_after_each_record() -> None:
    log = log_of(batch("a", "b", "c"))
    steps = load_steps(log, 0, TextSerde(), lambda record: None, 1_000_000)
    assert [next(steps) for _ in range(4)] == [0, 1, 2, 3]


def test_a_log_that_is_led_elsewhere_cannot_be_loaded() -> None:
    log = log_of(batch("a"))
    log.lose(0)
    with pytest.raises(KafkaError) as rejection:
        load(log)
    assert rejection.value.error is Error.NOT_LEADER_OR_FOLLOWER


def test_reads_may_cut_the_last_batch_short() -> None:
    class Cutting(MemoryLog):
        def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes:
            complete = super().read(partition, from_offset, max_bytes)
            return complete + batch("cut")[: len(complete) % 80]

    log = Cutting()
    log.batches = log_of(*(batch(f"k{number}" * number) for number in range(1, 20))).batches
    log.lead(0, 1)
    assert len(load(log, buffer_bytes=200)) == 19


def test_a_gap_at_the_end_ends_the_load() -> None:
    class Truncated(MemoryLog):
        def end_offset(self, partition: int) -> int:
            return 99

    log = Truncated()
    log.batches = log_of(batch("a")).batches
    log.lead(0, 1)
    assert [record.key for record in load(log)] == ["a"]


def test_work_is_done_in_slices_and_finished_once() -> None:
    async def main() -> None:
        done: list[int] = []
        finished: list[int] = []

        def steps() -> Iterator[None]:
            for number in range(10):
                done.append(number)
                yield

        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        run_in_slices(scheduler, steps(), lambda: finished.append(len(done)))
        assert done == []
        while scheduler.waiting:  # noqa: ASYNC110 - the test waits for rounds of the loop
            await asyncio.sleep(0)
        assert (finished, scheduler.slices) == ([10], 11)

    asyncio.run(main())


def test_work_without_steps_is_finished_in_the_next_round() -> None:
    async def main() -> None:
        finished: list[bool] = []
        run_in_slices(TaskScheduler(asyncio.get_running_loop()), iter(()), lambda: finished.append(True))
        assert finished == []
        await asyncio.sleep(0)
        assert finished == [True]

    asyncio.run(main())
