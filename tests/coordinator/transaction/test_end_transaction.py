"""What EndTxn does in each state, with the current epoch and in a retry: the table of KIP-890 row by row, as Kafka has
it while markers are being written."""

from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, P0, ShardBench, error_of, fail

from signalbox.coordinator.transaction.transaction_state import TransactionState as S
from signalbox.coordinator.transaction.transactional_id import MAX_EPOCH
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")
COMMIT, ABORT = True, False


@pytest.mark.parametrize(
    ("committed", "version", "state", "epoch"),
    [(COMMIT, 0, S.PREPARE_COMMIT, 3), (ABORT, 0, S.PREPARE_ABORT, 3), (COMMIT, 2, S.PREPARE_COMMIT, 4)],
)
def test_an_ongoing_transaction_is_prepared_and_its_markers_are_requested(
    committed: bool, version: int, state: S, epoch: int
) -> None:
    bench = ShardBench()
    bench.holds(state=S.ONGOING)
    decision = bench.end(committed, version=version)
    assert bench.markers == []
    response = bench.commit(decision)
    assert response.error_code == Error.NONE
    assert (response.producer_id, response.producer_epoch) == ((7, 4) if version == 2 else (-1, -1))
    assert (bench.current.state, bench.current.producer_epoch, bench.current.partitions) == (
        state,
        epoch,
        frozenset((P0,)),
    )
    assert bench.markers == [bench.current]


@pytest.mark.parametrize(
    ("state", "committed", "error"),
    [
        (S.EMPTY, COMMIT, Error.INVALID_TXN_STATE),
        (S.EMPTY, ABORT, Error.INVALID_TXN_STATE),
        (S.PREPARE_COMMIT, COMMIT, Error.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_COMMIT, ABORT, Error.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_ABORT, ABORT, Error.CONCURRENT_TRANSACTIONS),
        (S.PREPARE_ABORT, COMMIT, Error.CONCURRENT_TRANSACTIONS),
        (S.COMPLETE_COMMIT, COMMIT, Error.NONE),
        (S.COMPLETE_COMMIT, ABORT, Error.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, ABORT, Error.NONE),
        (S.COMPLETE_ABORT, COMMIT, Error.INVALID_TXN_STATE),
    ],
)
def test_version_1_in_the_other_states(state: S, committed: bool, error: Error) -> None:
    bench = ShardBench()
    bench.holds(state=state)
    assert error_of(lambda: bench.end(committed, version=1)) is error
    assert error_of(lambda: bench.end(committed, (7, 2), version=1)) is Error.PRODUCER_FENCED


EB, FENCED, INVALID = "epoch bump", Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE
WAIT = Error.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("state", "committed", "retry", "current"),
    [
        (S.EMPTY, ABORT, FENCED, EB),
        (S.EMPTY, COMMIT, FENCED, INVALID),
        (S.ONGOING, ABORT, FENCED, EB),
        (S.ONGOING, COMMIT, FENCED, EB),
        (S.PREPARE_ABORT, ABORT, WAIT, WAIT),
        (S.PREPARE_ABORT, COMMIT, WAIT, WAIT),
        (S.PREPARE_COMMIT, ABORT, WAIT, WAIT),
        (S.PREPARE_COMMIT, COMMIT, WAIT, WAIT),
        (S.COMPLETE_ABORT, ABORT, Error.NONE, EB),
        (S.COMPLETE_ABORT, COMMIT, INVALID, INVALID),
        (S.COMPLETE_COMMIT, ABORT, INVALID, EB),
        (S.COMPLETE_COMMIT, COMMIT, Error.NONE, INVALID),
    ],
)
def test_version_2_in_every_state(state: S, committed: bool, retry: object, current: object) -> None:
    for behind, expected in ((1, retry), (0, current)):
        bench = ShardBench()
        bench.holds(state=state)
        result = error_of(lambda: bench.commit(bench.end(committed, (7, 3 - behind))))  # noqa: B023
        if expected == EB:
            assert (result, bench.current.producer_epoch) == (Error.NONE, 4)
        else:
            assert (result, bench.current.producer_epoch) == (expected, 3)


def test_a_retry_gets_the_epoch_of_the_next_transaction() -> None:
    bench = ShardBench()
    bench.holds(state=S.COMPLETE_COMMIT)
    response = bench.commit(bench.end(COMMIT, (7, 2)))
    assert (response.producer_id, response.producer_epoch) == (7, 3)


def test_an_exhausted_producer_gets_its_next_id_with_the_response_and_again_in_a_retry() -> None:
    bench = ShardBench()
    bench.holds(state=S.ONGOING, producer_epoch=MAX_EPOCH - 1)
    last = (7, MAX_EPOCH - 1)
    response = bench.commit(bench.end(COMMIT, last))
    assert (response.producer_id, response.producer_epoch) == (101, 0)
    assert error_of(lambda: bench.end(COMMIT, last)) is Error.CONCURRENT_TRANSACTIONS
    assert (bench.markers[0].producer_id, bench.markers[0].producer_epoch) == (7, MAX_EPOCH)
    bench.commit(bench.shard.prepared.complete(NAME, bench.current))
    response = bench.commit(bench.end(COMMIT, last))
    assert (response.producer_id, response.producer_epoch) == (101, 0)


def test_a_transaction_that_is_being_changed_is_not_ended() -> None:
    bench = ShardBench()
    bench.holds(state=S.ONGOING)
    bench.end(COMMIT)
    for version in (0, 2):
        assert error_of(lambda: bench.end(COMMIT, version=version)) is Error.CONCURRENT_TRANSACTIONS  # noqa: B023


def test_an_unknown_producer_is_rejected() -> None:
    bench = ShardBench()
    assert error_of(lambda: bench.end(COMMIT)) is Error.INVALID_PRODUCER_ID_MAPPING
    bench.holds(state=S.ONGOING)
    assert error_of(lambda: bench.end(COMMIT, (8, 3))) is Error.INVALID_PRODUCER_ID_MAPPING
    assert error_of(lambda: bench.end(COMMIT, (7, 9))) is Error.PRODUCER_FENCED


def test_no_markers_without_the_record() -> None:
    bench = ShardBench()
    bench.holds(state=S.ONGOING)
    decision = bench.end(COMMIT)
    fail(decision)
    assert bench.markers == []
    bench.commit(bench.end(COMMIT))
    assert len(bench.markers) == 1
