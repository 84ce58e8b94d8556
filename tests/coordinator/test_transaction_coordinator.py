from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.handler_requests import update
from tests.coordinator.bench import scheduler_of_small_slices, settle, transcript
from tests.coordinator.transaction.shards import NAME, TIMEOUT_MS
from tests.coordinator.transaction_bench import PARTITION, SWEEP_MS, T0, TransactionBench

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.group_coordinator import partition_for
from signalbox.coordinator.transaction.transactional_id import MAX_EPOCH
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest

pytestmark = pytest.mark.spec("D5")


@transcript
async def test_a_transaction_from_begin_to_complete() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    assert producer == (1_000, 0)
    added = bench.add(producer)
    assert not added.answered
    await settle()
    assert added.response is Error.NONE
    ended = bench.end(producer)
    assert bench.markers_in_flight() == []
    await settle()
    assert (ended.response.error_code, ended.response.producer_id, ended.response.producer_epoch) == (0, 1_000, 1)
    assert bench.markers_in_flight() == [(1_000, 1, True, 1)]
    assert bench.add((1_000, 1)).response is Error.CONCURRENT_TRANSACTIONS
    await bench.answer_markers()
    assert bench.states() == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert bench.describe().transaction_state == "CompleteCommit"
    bench.add((1_000, 1))
    await settle()
    assert bench.describe().transaction_state == "Ongoing"


@transcript
async def test_the_timeout_is_checked_before_anything_of_the_id_is_known() -> None:
    bench = TransactionBench()
    calls = [bench.init(timeout_ms) for timeout_ms in (0, 900_001, 900_000)]
    await settle()
    codes = [call.response.error_code for call in calls]
    assert codes == [Error.INVALID_TRANSACTION_TIMEOUT, Error.INVALID_TRANSACTION_TIMEOUT, Error.NOT_COORDINATOR]
    await bench.start()
    accepted = bench.init(900_000)
    await settle()
    assert accepted.response.error_code == Error.NONE


@transcript
async def test_an_abort_of_the_next_transaction_waits_for_the_markers_of_the_previous_one() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.end(producer)
    await settle()
    assert bench.end((1_000, 1), committed=False).response.error_code == Error.CONCURRENT_TRANSACTIONS
    await bench.answer_markers()
    aborted = bench.end((1_000, 1), committed=False)
    await settle()
    assert (aborted.response.error_code, aborted.response.producer_epoch) == (0, 2)


@transcript
async def test_transaction_version_1_keeps_the_epoch() -> None:
    bench = await TransactionBench(level=1).start()
    producer = await bench.producer()
    bench.add(producer, version=0)
    await settle()
    ended = bench.end(producer, committed=False, version=0)
    await settle()
    assert (ended.response.producer_id, ended.response.producer_epoch) == (-1, -1)
    assert bench.markers_in_flight() == [(1_000, 0, False, 1)]


@transcript
async def test_the_next_coordinator_sends_the_markers_again_with_its_own_epoch() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.end(producer)
    await settle()
    successor = await bench.fail_over(5)
    assert successor.markers_in_flight() == [(1_000, 1, True, 5)]
    await bench.answer_markers()  # of the coordinator that has resigned
    assert successor.states()[-1] == "PrepareCommit"
    await successor.answer_markers()
    assert successor.states()[-3:] == ["PrepareCommit", "PrepareCommit", "CompleteCommit"]


@transcript
async def test_the_next_coordinator_completes_an_abort_without_partitions() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.log.held = True
    bench.end(producer, committed=False)
    await settle()
    bench.log.held = False
    successor = await bench.fail_over(5)
    assert successor.states()[-1] == "CompleteAbort"


@transcript
async def test_no_markers_before_the_successors_own_record_is_committed() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.log.held = True
    bench.end(producer)
    await settle()
    successor = await bench.fail_over(5)
    assert successor.markers_in_flight() == []
    bench.log.commit_all()
    await settle()
    assert successor.markers_in_flight() == [(1_000, 1, True, 5)]


@transcript
async def test_a_timed_out_transaction_is_aborted_by_the_sweep_and_its_producer_fenced() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    await bench.pass_time(TIMEOUT_MS + SWEEP_MS)
    assert bench.markers_in_flight() == [(1_000, 1, False, 1)]
    await bench.answer_markers()
    assert bench.states()[-1] == "CompleteAbort"
    assert bench.add(producer).response is Error.PRODUCER_FENCED
    aborted = bench.end(producer, committed=False).response
    assert (aborted.error_code, aborted.producer_id, aborted.producer_epoch) == (0, 1_000, 1)
    assert await bench.producer() == (1_000, 2)


@transcript
async def test_the_sweep_takes_a_producer_id_for_a_transaction_at_the_last_epoch() -> None:
    bench = await TransactionBench().start()
    producer_id, _ = await bench.producer()
    shard = bench.runtime.shards()[PARTITION]
    entry = shard.ids.get(NAME)
    assert entry is not None
    shard.ids.replay(NAME, replace(entry.current, producer_epoch=MAX_EPOCH - 1))
    bench.add((producer_id, MAX_EPOCH - 1))
    await settle()
    await bench.pass_time(TIMEOUT_MS + SWEEP_MS)
    assert bench.markers_in_flight() == [(producer_id, MAX_EPOCH, False, 1)]
    await bench.answer_markers()
    described = bench.describe()
    assert (described.producer_id, described.producer_epoch) == (1_001, 0)


@transcript
async def test_a_sweep_that_takes_longer_than_its_interval_is_not_begun_again_beside_itself() -> None:
    scheduler = scheduler_of_small_slices()
    bench = await TransactionBench(scheduler=scheduler).start()
    await bench.producer()
    shard = bench.runtime.shards()[PARTITION]
    entry = shard.ids.get(NAME)
    assert entry is not None
    ongoing = replace(entry.current.with_partitions([T0], 2, bench.clock.now_ms()), timeout_ms=10 * SWEEP_MS)
    for number in range(200):
        shard.ids.replay(f"id-{number}", ongoing)
    await bench.pass_time(5 * SWEEP_MS, SWEEP_MS)
    assert scheduler.waiting == 1


@transcript
async def test_a_second_producer_fences_the_first() -> None:
    bench = await TransactionBench().start()
    first = await bench.producer()
    bench.add(first)
    await settle()
    waiting = bench.init()
    await settle()
    assert waiting.response.error_code == Error.CONCURRENT_TRANSACTIONS
    await bench.answer_markers()
    second = await bench.producer()
    assert second[1] > first[1]
    assert bench.add(first).response is Error.PRODUCER_FENCED


@transcript
async def test_without_acknowledgement_no_markers_are_sent_until_the_record_is_written_once_more() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.log.held = True
    ended = bench.end(producer)
    await settle()
    bench.log.fail_all(KafkaError(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND))
    await settle()
    assert ended.response.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert bench.markers_in_flight() == []
    bench.log.held = False
    await bench.pass_time(SWEEP_MS)
    assert bench.markers_in_flight() == [(1_000, 1, True, 1)]
    await bench.answer_markers()
    assert bench.states()[2:] == ["PrepareCommit", "PrepareCommit", "CompleteCommit"]


@transcript
async def test_the_errors_of_the_log_are_those_of_a_coordinator() -> None:
    bench = await TransactionBench().start()
    bench.log.rejection = Error.NOT_ENOUGH_REPLICAS
    call = bench.init()
    await settle()
    assert call.response.error_code == Error.COORDINATOR_NOT_AVAILABLE
    bench.log.rejection = None
    assert await bench.producer() == (1_000, 0)
    bench.coordinator.on_resigned(PARTITION)
    assert bench.init().response.error_code == Error.NOT_COORDINATOR
    assert bench.add((1_000, 0)).response is Error.NOT_COORDINATOR
    assert bench.describe().error_code == Error.NOT_COORDINATOR


@transcript
async def test_a_new_producer_waits_for_its_id() -> None:
    bench = await TransactionBench().start()
    bench.producer_ids.holds = True
    first, second = bench.init(), bench.init(name="other")
    bench.producer_ids.held[0].complete(5)
    bench.producer_ids.held[1].fail(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))
    await settle()
    assert (first.response.producer_id, first.response.producer_epoch) == (5, 0)
    assert second.response.error_code == Error.COORDINATOR_LOAD_IN_PROGRESS


@transcript
async def test_verification() -> None:
    bench = await TransactionBench().start()
    producer, other = await bench.producer(), TopicPartition("t", 1)
    bench.add(producer)
    await settle()

    def verify(name: str, epoch: int) -> dict[TopicPartition, Error]:
        return bench.coordinator.verify_partitions(name, (producer[0], epoch), [T0, other]).result()

    assert verify(NAME, 0) == {T0: Error.NONE, other: Error.TRANSACTION_ABORTABLE}
    assert verify(NAME, 1) == dict.fromkeys((T0, other), Error.PRODUCER_FENCED)
    assert verify("", 1) == dict.fromkeys((T0, other), Error.INVALID_REQUEST)


@transcript
async def test_empty_transactional_ids_are_rejected() -> None:
    bench = await TransactionBench().start()
    bench_calls = (
        bench.coordinator.add_partitions("", (1, 1), [T0], 0).result(),
        bench.describe("").error_code,
    )
    assert bench_calls == (Error.INVALID_REQUEST, Error.INVALID_REQUEST)


@transcript
async def test_list_transactions_of_all_partitions() -> None:
    bench = await TransactionBench().start()
    await bench.producer()
    listed = bench.coordinator.list_transactions(ListTransactionsRequest(), lambda name: True)
    assert [row.transactional_id for row in listed.transaction_states] == [NAME]
    bench.log.lead(1, 1)
    bench.coordinator.on_elected(1, 1)
    loading = bench.coordinator.list_transactions(ListTransactionsRequest(), lambda name: True)
    assert (loading.error_code, loading.transaction_states) == (Error.COORDINATOR_LOAD_IN_PROGRESS, [])


@transcript
async def test_the_partition_count_is_that_of_the_topic_and_deleted_topics_need_no_markers() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"t": {0: (-1, [1])}}))
    bench.end(producer)
    await settle()
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"t": {0: (-2, [1]), 1: (-2, [1])}}))
    await settle()
    assert bench.states()[-1] == "CompleteCommit"
    state_partitions = {index: (1, [1]) for index in range(7)}
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"__transaction_state": state_partitions}))
    assert bench.coordinator.partition_for(NAME) == partition_for(NAME, 7)


@transcript
async def test_a_topic_that_was_deleted_before_the_end_of_the_transaction_needs_no_markers() -> None:
    bench = await TransactionBench().start()
    producer = await bench.producer()
    bench.add(producer)
    await settle()
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"t": {0: (-2, [1]), 1: (-2, [1])}}))
    bench.end(producer)
    await settle()
    assert bench.states()[-1] == "CompleteCommit"


@transcript
async def test_after_stop_nothing_is_swept() -> None:
    bench = await TransactionBench().start()
    await bench.producer()
    bench.coordinator.stop()
    await bench.pass_time(2 * SWEEP_MS)
    assert bench.channels.closed
    assert bench.timers.armed == [RuntimeSettings().maintenance_interval_ms / 1_000]
