"""The calls of an application to its transactional producer: they change the manager and wait for what it reaches.

What a call has begun goes on after DeadlinePassed, and when the call is cancelled: the same call again waits for its
end. The result is returned or raised once, before another transaction can begin.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.feature_admin import FeatureAdmin
from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, DeadlinePassed, TransactionAborted
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.client.transactions.transaction_sender import TransactionSender
from signalbox.client.transactions.transaction_state import FAILED, OPEN, TransactionState
from signalbox.common.ids import TopicPartition

log = logging.getLogger("signalbox.client")

_FEATURE = "transaction.version"
_COMMIT = "commit_transaction"
_S = TransactionState


class TransactionCalls:
    def __init__(self, client: ClusterClient, sender: TransactionSender) -> None:
        self._client = client
        self._sender = sender
        self._manager = sender.manager
        self._initializing = False
        self._ending: tuple[str, int] | None = None  # the call whose result is not returned yet, `ended` before it

    async def initialize(self, timeout_ms: float | None) -> None:
        deadline = self._client.deadline(timeout_ms)
        manager = self._manager
        if manager.state is _S.UNINITIALIZED:
            features = await FeatureAdmin(self._client).describe_features(timeout_ms=left_ms(deadline))
            if manager.state is _S.UNINITIALIZED:  # else another call was faster, and this one joins it
                manager.initialize(features.finalized.get(_FEATURE, 1))
                self._initializing = True
        elif not self._initializing:
            manager.check("init_transactions", _S.UNINITIALIZED)
        await self._until(lambda: manager.state is not _S.INITIALIZING, "init_transactions", deadline)
        self._initializing = False
        self._raise_failure()

    def begin(self) -> None:
        if self._ending is not None and self._manager.state is not _S.FATAL_ERROR:
            raise RuntimeError(f"call {self._ending[0]} again: its result was not returned yet")
        self._manager.begin()

    def begin_send(self) -> int:
        """The number of the transaction to which a record is going to be added; raises if none accepts records."""
        self._manager.check_can_add("send")
        return self._manager.ended

    def send_failed(self, number: int, failure: ClientFailure) -> None:
        """A record of transaction `number` was not queued: the transaction must not be committed without it, also if
        the application ignores the failure."""
        if self._manager.ended == number and self._manager.state is _S.IN_TRANSACTION:
            self._manager.record_failed(failure)
            self._sender.wake()
            self._sender.on_change()

    async def add_offsets(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        group: ConsumerGroupMetadata,
        timeout_ms: float | None,
    ) -> None:
        manager = self._manager
        rows = {
            partition: row if isinstance(row, CommittedOffset) else CommittedOffset(row, -1, None)
            for partition, row in offsets.items()
        }
        manager.add_offsets(rows, group)
        number = manager.ended
        await self._until(
            lambda: not manager.has_offsets or manager.state in FAILED,
            "send_offsets_to_transaction",
            self._client.deadline(timeout_ms),
        )
        self._raise_failure()
        self._raise_if_aborted(number)

    async def commit(self, timeout_ms: float | None) -> None:
        await self._end(_COMMIT, self._manager.commit, timeout_ms)

    async def abort(self, timeout_ms: float | None) -> None:
        if self._manager.can_abort:
            self._ending = None  # a commit that failed before its result was returned, or that was not sent
        await self._end("abort_transaction", self._manager.abort, timeout_ms)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begins; commits at the end, aborts after an exception."""
        self.begin()
        try:
            yield
            await self.commit(None)
        except BaseException as error:
            await self._abort_after(error)
            raise

    async def _abort_after(self, error: BaseException) -> None:
        """The exception that ended a transaction is more important than one of the abort, which becomes its note. A
        commit that goes on is left to itself: it may be made yet."""
        if self._manager.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR):
            try:
                await self.abort(None)
            except ClientFailure as failure:
                error.add_note(f"the transaction could not be aborted: {failure}")

    async def abort_if_open(self, timeout_ms: float | None) -> None:
        """Before the producer is closed. Without it, the coordinator aborts the transaction after its timeout."""
        if self._manager.can_abort:
            try:
                await self.abort(timeout_ms)
            except ClientFailure as failure:
                log.info("Transaction not aborted (transactional id=%s): %s", self._sender.transactional_id, failure)

    async def _end(self, method: str, begin: Callable[[], None], timeout_ms: float | None) -> None:
        manager = self._manager
        if self._ending is None:
            ended = manager.ended
            begin()
            self._ending = method, ended
        elif self._ending[0] != method:
            raise RuntimeError(f"{method} is not possible now: call {self._ending[0]} again for its result")
        ended = self._ending[1]
        await self._until(
            lambda: manager.ended > ended or manager.state in FAILED, method, self._client.deadline(timeout_ms)
        )
        self._ending = None
        if manager.ended == ended:
            self._raise_failure()
        if method == _COMMIT:
            self._raise_if_aborted(ended)

    async def _until(self, done: Callable[[], bool], method: str, deadline: float) -> None:
        self._sender.wake()
        self._sender.on_change()
        try:
            async with asyncio.timeout_at(deadline):
                await self._sender.until(done)
        except TimeoutError:
            text = f"{method} did not end in time and goes on: {self._manager.state.value}"
            raise DeadlinePassed(text) from self._sender.last_failure

    def _raise_failure(self) -> None:
        manager = self._manager
        if manager.state in FAILED and manager.failure is not None:
            raise manager.failure

    def _raise_if_aborted(self, number: int) -> None:
        """A transaction that failed may be aborted by another task before the waiting call has seen the failure."""
        manager = self._manager
        is_open = manager.ended == number and manager.state in OPEN
        if not is_open and manager.last_committed < number:
            raise TransactionAborted("another call aborted the transaction meanwhile")
