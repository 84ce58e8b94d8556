from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, P0, ShardBench, fail, written

from signalbox.coordinator.transaction.transaction_state import TransactionState as S

pytestmark = pytest.mark.spec("D5")


def test_the_transaction_is_complete_when_its_markers_are_written() -> None:
    bench = ShardBench()
    prepared = bench.holds(state=S.PREPARE_COMMIT)
    bench.commit(bench.shard.prepared.complete(NAME, prepared))
    assert (bench.current.state, bench.current.partitions) == (S.COMPLETE_COMMIT, frozenset())


def test_the_markers_of_another_transaction_complete_nothing() -> None:
    bench = ShardBench()
    earlier = bench.holds(state=S.PREPARE_COMMIT)
    bench.holds(state=S.PREPARE_ABORT, producer_epoch=4)
    assert bench.shard.prepared.complete(NAME, earlier).records == []
    assert bench.shard.prepared.complete("unknown", earlier).records == []


def test_a_completion_that_is_not_written_is_retried() -> None:
    bench = ShardBench()
    prepared = bench.holds(state=S.PREPARE_ABORT)
    decision = bench.shard.prepared.complete(NAME, prepared)
    fail(decision)
    bench.commit(bench.timer.expire())
    assert bench.current.state is S.COMPLETE_ABORT


def test_a_prepared_record_without_acknowledgement_is_written_again_before_markers_are_sent() -> None:
    bench = ShardBench()
    bench.holds(state=S.ONGOING)
    decision = bench.end(committed=True)
    bench.shard.replay(decision.records[0])  # as the write queue does after NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert bench.markers == []
    (again,) = written(bench.shard.prepared.write_again())
    assert again.records == decision.records
    bench.commit(again)
    assert [(markers.state, markers.partitions) for markers in bench.markers] == [(S.PREPARE_COMMIT, frozenset((P0,)))]
    assert written(bench.shard.prepared.write_again()) == []


def test_a_prepared_record_that_is_not_written_after_a_load_is_retried() -> None:
    bench = ShardBench()
    prepared = bench.holds(state=S.PREPARE_COMMIT)
    (again,) = written(bench.shard.prepared.write_again())
    fail(again)
    assert bench.shard.prepared.retrying == 1
    bench.commit(bench.timer.expire())
    assert (bench.markers, bench.shard.prepared.retrying) == ([prepared], 0)
