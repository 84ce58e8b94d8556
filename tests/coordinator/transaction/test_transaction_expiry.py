from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, P0, TIMEOUT_MS, ShardBench, error_of, fail, written

from signalbox.coordinator.transaction.transaction_state import EXPIRING_STATES, TransactionState
from signalbox.coordinator.transaction.transactional_id import MAX_EPOCH
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")
EXPIRATION_MS = 604_800_000


def test_a_transaction_is_aborted_after_its_timeout_and_its_producer_fenced() -> None:
    bench = ShardBench(level=1)
    bench.holds(state=TransactionState.ONGOING)
    bench.clock.advance(TIMEOUT_MS)
    assert bench.timed_out() == []
    bench.clock.advance(1)
    (abort,) = bench.timed_out()
    bench.commit(abort)
    assert (bench.current.state, bench.current.producer_epoch) == (TransactionState.PREPARE_ABORT, 4)
    assert bench.markers == [bench.current]
    assert error_of(lambda: bench.add(P0)) is Error.PRODUCER_FENCED


def test_with_transaction_version_2_a_producer_goes_on_when_it_aborts_what_has_timed_out() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.clock.advance(TIMEOUT_MS + 1)
    (abort,) = bench.timed_out()
    bench.commit(abort)
    assert bench.markers[0].producer_epoch == 4
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    response = bench.commit(bench.end(committed=False))
    assert (response.producer_id, response.producer_epoch) == (7, 4)


def test_a_transaction_that_times_out_at_the_last_epoch_takes_a_new_producer_id() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING, producer_epoch=MAX_EPOCH - 1)
    bench.clock.advance(TIMEOUT_MS + 1)
    (abort,) = bench.timed_out()
    bench.commit(abort)
    assert (bench.markers[0].producer_id, bench.markers[0].producer_epoch) == (7, MAX_EPOCH)
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    late = bench.commit(bench.end(False, (7, MAX_EPOCH - 1)))
    assert (late.producer_id, late.producer_epoch) == (101, 0)
    assert bench.timed_out() == []


def test_every_transactional_id_is_a_piece_of_work_of_its_own() -> None:
    bench = ShardBench()
    states = (TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT)
    for name, state in zip("abc", states, strict=True):
        bench.shard.ids.replay(name, bench.holds(state=state))
    assert len(list(bench.shard.expiry.remove_expired())) == 4
    assert [entry.name for entry in bench.shard.ids.open()] == ["b", "orders", "c"]
    assert len(list(bench.shard.abort_timed_out(lambda name: None))) == 6, "ids without a transaction cost nothing"
    bench.shard.ids.replay("b", None)
    bench.shard.ids.replay("c", bench.holds(state=TransactionState.COMPLETE_ABORT))
    assert bench.shard.ids.open() == []


@pytest.mark.parametrize("state", [state for state in TransactionState if state is not TransactionState.ONGOING])
def test_no_other_state_times_out(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    bench.clock.advance(10 * TIMEOUT_MS)
    assert bench.timed_out() == []


@pytest.mark.parametrize("state", list(TransactionState))
def test_ids_without_a_transaction_expire(state: TransactionState) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    bench.clock.advance(EXPIRATION_MS - 1)
    assert written(bench.shard.expiry.remove_expired()) == []
    bench.clock.advance(1)
    expired = written(bench.shard.expiry.remove_expired())
    assert len(expired) == (1 if state in EXPIRING_STATES else 0)
    for decision in expired:
        bench.commit(decision)
        assert len(bench.shard.ids) == 0


def test_what_is_being_written_neither_times_out_nor_expires() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.end(committed=True)
    bench.clock.advance(EXPIRATION_MS)
    assert bench.timed_out() == []
    assert written(bench.shard.expiry.remove_expired()) == []


def test_a_tombstone_that_could_not_be_written_is_written_at_the_next_sweep() -> None:
    """The next search for expired ids is an hour away, and each id that is left costs every broker that loads it."""
    bench = ShardBench()
    bench.holds()
    bench.clock.advance(EXPIRATION_MS)
    (tombstone,) = written(bench.shard.expiry.remove_expired())
    fail(tombstone)
    (again,) = written(bench.shard.abort_timed_out(lambda name: None))
    assert again.records == tombstone.records
    bench.commit(again)
    assert (len(bench.shard.ids), written(bench.shard.expiry.remove_unwritten())) == (0, [])


def test_an_id_that_was_used_since_its_tombstone_failed_is_kept() -> None:
    bench = ShardBench()
    bench.holds()
    bench.clock.advance(EXPIRATION_MS)
    (tombstone,) = written(bench.shard.expiry.remove_expired())
    fail(tombstone)
    bench.commit(bench.init())
    assert written(bench.shard.expiry.remove_unwritten()) == []
