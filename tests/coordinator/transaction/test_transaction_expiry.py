from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import P0, TIMEOUT_MS, ShardBench, error_of

from signalbox.coordinator.transaction.transaction_state import EXPIRING_STATES, TransactionState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")
EXPIRATION_MS = 604_800_000


def test_a_transaction_is_aborted_after_its_timeout_and_its_producer_fenced() -> None:
    bench = ShardBench(level=1)
    bench.holds(state=TransactionState.ONGOING)
    bench.clock.advance(TIMEOUT_MS)
    assert list(bench.shard.expiry.abort_timed_out()) == []
    bench.clock.advance(1)
    (abort,) = bench.shard.expiry.abort_timed_out()
    bench.commit(abort)
    assert (bench.current.state, bench.current.producer_epoch) == (TransactionState.PREPARE_ABORT, 4)
    assert bench.markers == [bench.current]
    assert error_of(lambda: bench.add(P0)) is Error.PRODUCER_FENCED


@pytest.mark.parametrize("state", [state for state in TransactionState if state is not TransactionState.ONGOING])
def test_no_other_state_times_out(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    bench.clock.advance(10 * TIMEOUT_MS)
    assert list(bench.shard.expiry.abort_timed_out()) == []


@pytest.mark.parametrize("state", list(TransactionState))
def test_ids_without_a_transaction_expire(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    bench.clock.advance(EXPIRATION_MS - 1)
    assert list(bench.shard.expiry.remove_expired()) == []
    bench.clock.advance(1)
    expired = list(bench.shard.expiry.remove_expired())
    assert len(expired) == (1 if state in EXPIRING_STATES else 0)
    for decision in expired:
        bench.commit(decision)
        assert len(bench.shard.ids) == 0


def test_what_is_being_written_neither_times_out_nor_expires() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.end(committed=True)
    bench.clock.advance(EXPIRATION_MS)
    assert list(bench.shard.expiry.abort_timed_out()) == []
    assert list(bench.shard.expiry.remove_expired()) == []
