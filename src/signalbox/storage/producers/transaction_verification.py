"""Verification of transactions (KIP-890): a partition accepts a transaction's first batch only if the transaction
coordinator has the partition in the producer's open transaction.

Otherwise a late batch, behind the marker that ended its transaction, would open a transaction that nothing ends. The
leader gets a guard before it asks the coordinator, and appends the batch with it. A batch or a marker of the producer
that is appended meanwhile takes the guard back.

Nothing of a verification is in the log, and its producer id is a client's: a verification that is rejected for good is
removed, and all others after EXPIRATION_MS at the latest.
"""

from __future__ import annotations

EXPIRATION_MS = 3_600_000


class VerificationGuard:
    """One verification in progress. Compared by identity."""

    __slots__ = ()


SWITCHED_OFF = VerificationGuard()  # batches are not verified
ALREADY_ONGOING = VerificationGuard()  # the batch belongs to an open transaction: it may not open another one


class Verification:
    """A producer's verification in one log. `lowest_sequence`: of the batches that wait for it (a later one must not
    open the transaction); `raises_epochs`: the producer uses transaction version 2 (its state must not be missing);
    `waiting`: the batches that were not rejected for good."""

    __slots__ = ("guard", "lowest_sequence", "producer_epoch", "raises_epochs", "started_ms", "waiting")

    def __init__(self, producer_epoch: int, sequence: int, started_ms: int, *, raises_epochs: bool) -> None:
        self.guard = VerificationGuard()
        self.producer_epoch = producer_epoch
        self.lowest_sequence = sequence
        self.started_ms = started_ms
        self.raises_epochs = raises_epochs
        self.waiting = 0


class TransactionVerifications:
    """The verifications of one log by producer id."""

    __slots__ = ("_verifications",)

    def __init__(self) -> None:
        self._verifications: dict[int, Verification] = {}

    def __len__(self) -> int:
        return len(self._verifications)

    def get(self, producer_id: int) -> Verification | None:
        return self._verifications.get(producer_id)

    def start(
        self, producer_id: int, producer_epoch: int, sequence: int, now_ms: int, *, raises_epochs: bool
    ) -> VerificationGuard:
        """The guard for a batch that will be verified; all batches that wait share it."""
        verification = self._verifications.get(producer_id)
        if verification is None:
            verification = Verification(producer_epoch, sequence, now_ms, raises_epochs=raises_epochs)
            self._verifications[producer_id] = verification
        elif producer_epoch > verification.producer_epoch:
            verification.producer_epoch, verification.lowest_sequence = producer_epoch, sequence
        elif producer_epoch == verification.producer_epoch:
            verification.lowest_sequence = min(verification.lowest_sequence, sequence)
        verification.waiting += 1
        return verification.guard

    def abandon(self, producer_id: int, guard: VerificationGuard) -> None:
        """A batch that had this guard was rejected for good: without another one the verification is removed."""
        verification = self._verifications.get(producer_id)
        if verification is not None and verification.guard is guard:
            verification.waiting -= 1
            if not verification.waiting:
                del self._verifications[producer_id]

    def confirms(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether a batch with this guard may open a transaction."""
        verification = self._verifications.get(producer_id)
        return verification is not None and verification.guard is guard

    def end(self, producer_id: int) -> None:
        """A transactional batch or a marker of the producer was appended."""
        self._verifications.pop(producer_id, None)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Removes verifications that no append has ended for so long, at most EXPIRATION_MS."""
        expiration_ms = min(expiration_ms, EXPIRATION_MS)
        for producer_id, verification in list(self._verifications.items()):
            if now_ms - verification.started_ms >= expiration_ms:
                del self._verifications[producer_id]
