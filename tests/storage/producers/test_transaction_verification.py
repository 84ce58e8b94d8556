import pytest

from signalbox.storage.producers.transaction_verification import (
    EXPIRATION_MS,
    TransactionVerifications,
    VerificationGuard,
)

pytestmark = pytest.mark.spec("D5")

PID = 9


def test_batches_that_wait_for_one_verification_share_its_guard() -> None:
    verifications = TransactionVerifications()
    assert not verifications.confirms(PID, None)
    guard = verifications.start(PID, 0, 3, 1000, raises_epochs=False)
    assert verifications.start(PID, 0, 1, 1000, raises_epochs=False) is guard
    assert verifications.start(PID, 0, 2, 1000, raises_epochs=False) is guard
    assert verifications.confirms(PID, guard)
    verification = verifications.get(PID)
    assert verification is not None
    assert verification.lowest_sequence == 1


def test_an_append_takes_the_guard_back() -> None:
    verifications = TransactionVerifications()
    guard = verifications.start(PID, 0, 0, 1000, raises_epochs=False)
    verifications.end(PID)
    assert not verifications.confirms(PID, guard)
    later = verifications.start(PID, 0, 0, 1000, raises_epochs=False)
    assert not verifications.confirms(PID, guard)
    assert verifications.confirms(PID, later)


@pytest.mark.parametrize(("epoch", "lowest"), [(0, 5), (1, 5), (2, 8)])
def test_sequences_count_from_the_latest_epoch_on(epoch: int, lowest: int) -> None:
    verifications = TransactionVerifications()
    verifications.start(PID, 1, 5, 1000, raises_epochs=False)
    verifications.start(PID, epoch, 8, 1000, raises_epochs=False)
    verification = verifications.get(PID)
    assert verification is not None
    assert verification.lowest_sequence == lowest


def test_verifications_expire() -> None:
    verifications = TransactionVerifications()
    verifications.start(1, 0, 0, 1000, raises_epochs=False)
    verifications.start(2, 0, 0, 1500, raises_epochs=False)
    verifications.expire(2000, 1000)
    assert len(verifications) == 1
    assert verifications.get(2) is not None


def test_a_verification_that_is_rejected_for_good_is_removed_with_its_last_batch() -> None:
    verifications = TransactionVerifications()
    guard = verifications.start(PID, 0, 0, 1000, raises_epochs=False)
    verifications.start(PID, 0, 1, 1000, raises_epochs=False)
    verifications.abandon(PID, VerificationGuard())
    verifications.abandon(PID, guard)
    assert verifications.confirms(PID, guard)
    verifications.abandon(PID, guard)
    verifications.abandon(PID, guard)
    assert len(verifications) == 0


def test_no_verification_is_older_than_an_hour() -> None:
    verifications = TransactionVerifications()
    verifications.start(PID, 0, 0, 1000, raises_epochs=False)
    verifications.expire(1000 + EXPIRATION_MS, 24 * EXPIRATION_MS)
    assert len(verifications) == 0
