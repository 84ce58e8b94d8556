from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, P0, P1, ShardBench, error_of

from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")


def test_partitions_are_added_and_the_same_ones_cost_no_record() -> None:
    bench = ShardBench()
    bench.holds()
    bench.commit(bench.add(P0))
    bench.commit(bench.add(P1))
    assert bench.current.partitions == {P0, P1}
    assert bench.add(P0, P1).records == []


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_the_next_transaction_waits_for_the_markers_of_the_last(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    assert error_of(lambda: bench.add(P1)) is Error.CONCURRENT_TRANSACTIONS
    assert error_of(lambda: bench.shard.add_partitions.verify(NAME, (7, 3), [P0])) is Error.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize("state", [TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT])
def test_a_new_transaction_begins_after_a_complete_one(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state, partitions=frozenset())
    bench.clock.advance(1_000)
    bench.commit(bench.add(P1))
    assert (bench.current.partitions, bench.current.started_ms) == (frozenset((P1,)), bench.clock.now_ms())


@pytest.mark.parametrize(
    ("producer", "error"),
    [((7, 2), Error.PRODUCER_FENCED), ((8, 3), Error.INVALID_PRODUCER_ID_MAPPING)],
)
def test_another_producer_is_rejected(producer: tuple[int, int], error: Error) -> None:
    bench = ShardBench()
    bench.holds()
    assert error_of(lambda: bench.add(P0, producer=producer)) is error
    assert error_of(lambda: bench.shard.add_partitions.verify(NAME, producer, [P0])) is error


def test_while_a_change_is_written_no_other_is_accepted() -> None:
    bench = ShardBench()
    bench.holds()
    bench.add(P0)
    assert error_of(lambda: bench.add(P1)) is Error.CONCURRENT_TRANSACTIONS


def test_verification_names_the_partitions_outside_of_the_transaction() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.add(P1)  # being written
    assert bench.shard.add_partitions.verify(NAME, (7, 3), [P0, P1]) == {
        P0: Error.NONE,
        P1: Error.TRANSACTION_ABORTABLE,
    }
