from __future__ import annotations

import pytest
from tests.coordinator.transaction.markers.test_marker_sender import SenderBench
from tests.coordinator.transaction.shards import NAME, P0, ShardBench, fail, written
from tests.metric_values import metric_values

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.transaction.transaction_shard import register_transaction_metrics
from signalbox.coordinator.transaction.transaction_state import TransactionState

pytestmark = pytest.mark.spec("D5")


def test_a_load_sends_no_markers_and_the_prepared_records_are_written_again() -> None:
    bench = ShardBench()
    prepared = bench.holds(state=TransactionState.PREPARE_COMMIT)
    ongoing = bench.holds(state=TransactionState.ONGOING)
    successor = bench.shard = bench.new_shard()
    successor.replay(CoordinatorRecord(NAME, ongoing))
    successor.replay(CoordinatorRecord(NAME, prepared))
    successor.replay(CoordinatorRecord("other", ongoing))
    assert list(successor.finish_loading()) == []
    assert bench.markers == []
    (again,) = written(successor.prepared.write_again())
    bench.commit(again)
    assert bench.markers == [prepared]
    assert written(successor.abort_timed_out(lambda name: None)) == []
    assert list(successor.unload()) == []


def test_maintenance_removes_expired_ids() -> None:
    bench = ShardBench()
    bench.holds()
    assert written(bench.shard.maintenance()) == []
    bench.clock.advance(604_800_000)
    assert len(written(bench.shard.maintenance())) == 1


def test_what_waits_is_counted_under_kafkas_names() -> None:
    bench, registry, markers = ShardBench(), MetricRegistry(), SenderBench()
    register_transaction_metrics(registry, lambda: [bench.shard], markers.sender)
    names = (("UnknownDestinationQueueSize",), ("LogAppendRetryQueueSize",))
    assert [metric_values(registry)[name] for name in names] == [0, 0]
    markers.leaders[P0] = -1
    markers.send(P0)
    bench.holds(state=TransactionState.PREPARE_COMMIT)
    (again,) = written(bench.shard.prepared.write_again())
    fail(again)
    assert [metric_values(registry)[name] for name in names] == [1, 1]
