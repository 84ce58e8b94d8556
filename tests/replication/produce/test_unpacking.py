"""Batches that are decompressed in a thread: order, bounds, and changes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.limits import MAX_AWAITING_UNPACKING_BYTES, UNPACKED_AT_ONCE_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.replication.produce.unpacking import Unpacking, UnpackingQueue
from signalbox.storage.files.background import InlineBackground
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.batch_admission import AdmissionSteps, Admitted, batch_rules, begin_admission
from tests.replication.held_threads import HeldThreads
from tests.replication.memory_cluster import TOPIC, MemoryCluster
from tests.storage.workbench import NOW_MS

pytestmark = pytest.mark.spec("D1")

COMPACTED = LogConfig(cleanup_policy=("compact",))


def packed(name: bytes = b"k", size: int = UNPACKED_AT_ONCE_BYTES + 1) -> bytes:
    return encode_batch([Record(key=name, value=bytes(size), timestamp=NOW_MS)], compression="zstd")


def begun(batch: bytes | None = None, config: LogConfig = COMPACTED) -> AdmissionSteps:
    steps = begin_admission(batch or packed(), config, batch_rules(config), NOW_MS)
    assert isinstance(steps, AdmissionSteps)
    return steps


def at_once(work: Callable[[], None]) -> None:
    work()


def test_batches_begin_in_their_order_and_within_the_bound() -> None:
    threads, finished = HeldThreads(), list[str]()
    unpacking_queue = UnpackingQueue(threads, at_once)
    large = LogConfig(cleanup_policy=("compact",), max_message_bytes=5 * 2**20)  # decompresses up to the whole bound
    for name, config in (("small", COMPACTED), ("large", large), ("late", COMPACTED)):
        unpacking_queue.add(begun(config=config), 100, lambda _, name=name: finished.append(name))  # type: ignore[misc]
    assert len(threads.jobs) == 1, "the large one waits, and what came behind it"
    while threads.jobs:
        assert len(threads.jobs) == 1
        threads.step()
    assert finished == ["small", "large", "late"]
    for name in ("first", "second"):
        unpacking_queue.add(begun(), 100, lambda _, name=name: finished.append(name))  # type: ignore[misc]
    assert len(threads.jobs) == 2, "what is finished does not count any more"
    threads.step()
    threads.step()


def test_too_much_that_waits_is_rejected() -> None:
    threads, results = HeldThreads(), list[Admitted | KafkaError]()
    unpacking_queue = UnpackingQueue(threads, at_once)
    large = LogConfig(cleanup_policy=("compact",), max_message_bytes=5 * 2**20)
    for _ in range(3):
        unpacking_queue.add(begun(config=large), MAX_AWAITING_UNPACKING_BYTES, results.append)
    [rejected] = results
    assert isinstance(rejected, KafkaError)
    assert rejected.error is Error.REQUEST_TIMED_OUT
    unpacking_queue.close()
    assert threads.closed
    threads.step()
    assert len(results) == 1, "nothing goes on behind the end"


def test_work_with_many_batches_needs_no_recursion() -> None:
    unpacking_queue = UnpackingQueue(InlineBackground(), at_once)

    def work() -> Unpacking[int]:
        for _ in range(1_000):
            admitted = yield begun(), 100
            assert len(admitted) == 3
        with pytest.raises(KafkaError, match="limit of this topic"):
            yield begun(packed(size=65 * 2**20)), 100
        return 1_000

    assert unpacking_queue.run(work()).result() == 1_000


def test_work_that_fails_after_a_batch_fails_its_promise() -> None:
    """The request has a response: the scheduler would only log the error."""
    threads = HeldThreads()
    unpacking_queue = UnpackingQueue(threads, at_once)

    def work() -> Unpacking[int]:
        yield begun(), 100
        raise RuntimeError("authorizer failed")

    promise = unpacking_queue.run(work())
    assert not promise.is_done
    while threads.jobs:
        threads.step()
    with pytest.raises(RuntimeError, match="authorizer failed"):
        promise.result()


@pytest.mark.parametrize("config", [COMPACTED, LogConfig(compression_type="gzip")])
def test_faults_of_a_decompressed_batch(config: LogConfig) -> None:
    threads, results = HeldThreads(), list[Any]()
    unpacking_queue = UnpackingQueue(threads, at_once)
    unpacking_queue.add(begun(packed(size=65 * 2**20), config), 100, results.append)
    unpacking_queue.add(begun(packed(), config), 100, results.append)
    while threads.jobs:
        threads.step()
    assert results[0].error is Error.MESSAGE_TOO_LARGE
    assert not isinstance(results[1], KafkaError)


def compacting(tmp_path: Path) -> tuple[MemoryCluster, HeldThreads]:
    cluster, threads = MemoryCluster(tmp_path, [1]), HeldThreads()
    cluster.configs.log = COMPACTED
    cluster.create([1], partitions=2)
    manager = cluster.brokers[1].manager
    manager._unpacking_queue._threads = threads
    return cluster, threads


def test_others_are_served_meanwhile(tmp_path: Path) -> None:
    cluster, threads = compacting(tmp_path)
    manager = cluster.brokers[1].manager
    frame = bytearray(packed(b"unpacked"))
    slow = manager.append([((TOPIC, 0), memoryview(frame))], -1, 60_000)
    frame[:] = bytes(len(frame))  # the buffer is reused
    quick = manager.append([((TOPIC, 0), bytearray(encode_batch([Record(key=b"q", timestamp=NOW_MS)])))], -1, 60_000)
    cluster.run()
    assert (slow.is_done, quick.result()[0].base_offset) == (False, 0)
    while threads.jobs:
        threads.step()
    cluster.run()
    assert (slow.result()[0].error, slow.result()[0].base_offset) == (0, 1)


def test_a_leader_that_changes_meanwhile_does_not_append(tmp_path: Path) -> None:
    cluster, threads = compacting(tmp_path)
    result = cluster.brokers[1].manager.append([((TOPIC, 0), packed())], 1, 60_000)
    cluster.elect(1)
    while threads.jobs:
        threads.step()
    cluster.run()
    assert result.result()[0].error == Error.NOT_LEADER_OR_FOLLOWER


def test_a_request_that_timed_out_meanwhile_is_not_appended(tmp_path: Path) -> None:
    cluster, threads = compacting(tmp_path)
    result = cluster.brokers[1].manager.append([((TOPIC, 0), packed())], -1, 300)
    cluster.advance(400)
    assert result.result()[0].error == Error.REQUEST_TIMED_OUT
    while threads.jobs:
        threads.step()
    cluster.run()
    log = cluster.brokers[1].partition().log
    assert log is not None
    assert log.next_offset == 0


def test_batches_after_a_timed_out_request_are_rejected_too(tmp_path: Path) -> None:
    cluster, threads = compacting(tmp_path)
    manager = cluster.brokers[1].manager

    def send(sequence: int) -> Any:
        record = Record(key=b"k", value=bytes(UNPACKED_AT_ONCE_BYTES + 1), timestamp=NOW_MS)
        batch = encode_batch([record], compression="zstd", producer_id=7, producer_epoch=0, base_sequence=sequence)
        result = manager.append([((TOPIC, 0), batch)], -1, 300)
        if sequence == 1:
            cluster.advance(400)
        while threads.jobs:
            threads.step()
        cluster.run()
        return Error.of(result.result()[0].error)

    assert send(0) is Error.NONE
    assert send(1) is Error.REQUEST_TIMED_OUT
    assert send(2) is Error.REQUEST_TIMED_OUT, "OUT_OF_ORDER_SEQUENCE_NUMBER without it"
