from __future__ import annotations

import asyncio

from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, ProducerIdentity, RecordMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.records.batch_header import iter_batch_headers, read_batch_header
from signalbox.protocol.records.record_batch import Record

T = TopicPartition("t", 0)
FIRST, SECOND = ProducerIdentity(1, 0, "c"), ProducerIdentity(2, 0, "c")


def in_loop(test: object) -> None:
    async def run() -> None:
        assert callable(test)
        test()

    asyncio.run(run())


def batch(*values: bytes) -> ProducerBatch:
    made = ProducerBatch(0.0, 10.0)
    for value in values:
        made.add(Record(timestamp=1, value=value), asyncio.get_running_loop().create_future())
    return made


def queue_of(*batches: ProducerBatch) -> PartitionQueue:
    queue = PartitionQueue(T)
    queue.batches.extend(batches)
    return queue


def test_sequences_follow_each_other_and_stay_with_their_batch() -> None:
    def test() -> None:
        one, two = batch(b"a", b"b", b"c"), batch(b"d")
        queue = queue_of(one, two)
        assert queue.place(one, FIRST)
        before = one.encoded("none")
        assert queue.place(one, SECOND), "an identity once taken is kept"
        assert one.encoded("none") is before
        queue.batches.popleft()
        assert queue.place(two, SECOND)
        headers = [read_batch_header(row.encoded("none")) for row in (one, two)]
        assert [(row.producer_id, row.base_sequence) for row in headers] == [(1, 0), (1, 3)]

    in_loop(test)


def test_numbers_of_a_batch_that_was_certainly_not_appended_are_used_again() -> None:
    def test() -> None:
        one, two = batch(b"a", b"b"), batch(b"c")
        queue = queue_of(one, two)
        queue.place(one, FIRST)
        queue.given_up(one)
        queue.place(two, FIRST)
        assert (two.identity, two.base_sequence) == (FIRST, 0)

    in_loop(test)


def test_after_a_batch_that_may_be_in_the_log_another_identity_is_needed() -> None:
    def test() -> None:
        one, two = batch(b"a"), batch(b"b")
        queue = queue_of(one, two)
        queue.place(one, FIRST)
        one.maybe_appended = True
        queue.given_up(one)
        assert not queue.place(two, FIRST)
        assert queue.place(two, SECOND)
        assert (two.identity, two.base_sequence) == (SECOND, 0)

    in_loop(test)


def test_another_cluster_needs_an_identity_of_its_own() -> None:
    def test() -> None:
        one = batch(b"a")
        queue = queue_of(one)
        queue.place(one, FIRST)
        elsewhere = ProducerIdentity(1, 0, "d")
        assert queue.place(one, elsewhere)
        assert (one.identity, one.base_sequence) == (elsewhere, 0)

    in_loop(test)


def test_the_sequence_wraps_at_the_largest_int() -> None:
    def test() -> None:
        one, two = batch(b"a", b"b"), batch(b"c")
        queue = queue_of(one, two)
        queue.identity, queue.next_sequence = FIRST, 0x7FFFFFFF
        queue.place(one, FIRST)
        queue.batches.popleft()
        queue.place(two, FIRST)
        assert (one.base_sequence, two.base_sequence) == (0x7FFFFFFF, 1)

    in_loop(test)


def test_readiness_is_linger_or_a_full_batch_or_a_flush() -> None:
    def test() -> None:
        one = batch(b"a")
        queue = queue_of(one)
        assert not queue.is_ready(0.004, 0.005, False)
        assert queue.is_ready(0.005, 0.005, False)
        assert queue.is_ready(0.0, 0.005, True)
        one.closed = True
        assert queue.is_ready(0.0, 0.005, False)
        queue.retry_at = 1.0
        assert not queue.is_ready(0.5, 0.005, True)
        queue.retry_at, queue.in_flight = 0.0, True
        assert not queue.is_ready(0.5, 0.005, True)

    in_loop(test)


def test_results_reach_every_record_also_after_a_split() -> None:
    def test() -> None:
        original = batch(b"a", b"b", b"c")
        left, right = original.halves()
        left.succeed(T, 10, -1)
        right.fail(ValueError("no"))
        assert original.acknowledged[0].result() == RecordMetadata(T, 10, 1)
        assert [type(row.exception()) for row in original.acknowledged[1:]] == [ValueError, ValueError]
        again = batch(b"a")
        again.succeed(T, -1, 99)
        assert again.acknowledged[0].result() == RecordMetadata(T, -1, 99)

    in_loop(test)


def test_a_higher_epoch_restarts_the_sequences_also_of_a_producer_id_that_was_spent() -> None:
    def test() -> None:
        queue = PartitionQueue(T)
        first, second = ProducerIdentity(7, 0, "c", transactional=True), ProducerIdentity(7, 1, "c", transactional=True)
        queue.batches += [batch(b"a"), batch(b"b")]
        assert queue.place(queue.batches[0], first)
        queue.batches[0].attempts = 1
        assert queue.unsent() == [queue.batches[1]]
        queue.batches[0].maybe_appended = True
        queue.given_up(queue.batches[0])
        assert not queue.place(queue.batches[0], second), "its producer id is spent"
        queue.restart()
        assert queue.place(queue.batches[0], second)
        (header,) = iter_batch_headers(queue.batches[0].encoded("none"))
        assert (header.producer_epoch, header.base_sequence, header.is_transactional) == (1, 0, True)

    in_loop(test)
