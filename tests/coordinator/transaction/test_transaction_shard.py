from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, ShardBench, written

from signalbox.coordinator.decision import CoordinatorRecord
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
