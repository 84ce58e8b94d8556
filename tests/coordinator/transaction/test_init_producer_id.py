from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, TIMEOUT_MS, ShardBench, error_of

from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import MAX_EPOCH
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")


def identity(response: object) -> tuple[int, int]:
    return response.producer_id, response.producer_epoch  # type: ignore[attr-defined]


def test_a_new_transactional_id_begins_with_epoch_0_and_each_producer_gets_the_next() -> None:
    bench = ShardBench()
    assert identity(bench.commit(bench.init())) == (101, 0)
    assert identity(bench.commit(bench.init())) == (101, 1)
    assert (bench.current.state, bench.current.timeout_ms) == (TransactionState.EMPTY, TIMEOUT_MS)


def test_an_ongoing_transaction_is_aborted_with_an_epoch_that_no_producer_gets() -> None:
    bench = ShardBench(level=1)
    bench.holds(state=TransactionState.ONGOING)
    response = bench.commit(bench.init())
    assert (response.error_code, *identity(response)) == (Error.CONCURRENT_TRANSACTIONS, -1, -1)
    assert (bench.current.state, bench.current.producer_epoch) == (TransactionState.PREPARE_ABORT, 4)
    assert bench.markers == [bench.current]
    assert error_of(bench.init) is Error.CONCURRENT_TRANSACTIONS
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    assert identity(bench.commit(bench.init())) == (7, 5)


def test_with_transaction_version_2_the_abort_raises_the_epoch_once() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING)
    bench.commit(bench.init())
    assert (bench.current.state, bench.current.producer_epoch) == (TransactionState.PREPARE_ABORT, 4)
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    assert identity(bench.commit(bench.init())) == (7, 5)


def test_the_abort_at_the_last_epoch_leaves_the_producer_with_a_new_id() -> None:
    bench = ShardBench()
    bench.holds(state=TransactionState.ONGOING, producer_epoch=MAX_EPOCH - 1)
    bench.commit(bench.init())
    assert (bench.markers[0].producer_id, bench.markers[0].producer_epoch) == (7, MAX_EPOCH)
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    assert identity(bench.commit(bench.init())) == (101, 1)


def test_a_change_that_is_being_written_delays_the_producer() -> None:
    bench = ShardBench()
    bench.holds()
    bench.init()
    assert error_of(bench.init) is Error.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("producer", "result"),
    [
        ((7, 3), (7, 4)),  # the current producer recovers
        ((7, 2), (7, 3)),  # a retry: it gets the same epoch again
        ((7, 1), Error.PRODUCER_FENCED),
        ((7, 4), Error.PRODUCER_FENCED),
        ((8, 3), Error.PRODUCER_FENCED),
        ((6, MAX_EPOCH - 2), Error.PRODUCER_FENCED),
    ],
)
def test_a_producer_that_gives_its_id_recovers_unless_it_was_fenced(producer: tuple[int, int], result: object) -> None:
    bench = ShardBench()
    bench.holds(last_producer_epoch=2, previous_producer_id=6)
    if isinstance(result, Error):
        assert error_of(lambda: bench.init(producer=producer)) is result
    else:
        assert identity(bench.commit(bench.init(producer=producer))) == result


def test_an_exhausted_producer_id_is_replaced_and_a_retry_gets_the_new_one_again() -> None:
    bench = ShardBench()
    bench.holds(producer_epoch=MAX_EPOCH - 1)
    assert identity(bench.commit(bench.init(producer=(7, MAX_EPOCH - 1)))) == (101, 0)
    assert identity(bench.commit(bench.init(producer=(7, MAX_EPOCH - 1)))) == (101, 0)
    assert error_of(lambda: bench.init(producer=(7, 5))) is Error.PRODUCER_FENCED


def test_a_producer_whose_id_was_forgotten_gets_a_new_one() -> None:
    bench = ShardBench()
    assert identity(bench.commit(bench.init(producer=(7, 3)))) == (101, 0)
