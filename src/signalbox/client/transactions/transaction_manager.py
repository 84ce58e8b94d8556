"""Decides what a transactional producer sends next. No I/O, no clock: calls, responses and failures of batches come in,
`next_request` has the request that is due, at most one at a time.

Rules, those of Kafka's TransactionManager:
- With transaction version 1 a batch may leave only when its partition was added. Version 2 (KIP-890) adds partitions
  and offsets with the requests that write them, and every EndTxn returns a higher epoch.
- EndTxn is sent when no batch is left and none has failed; a lost one is asked again, until the coordinator responds.
- A coordinator that moves or is not available may have stored what it rejects: that counts as lost too.
- A record that could not be queued makes the transaction abortable, also if the application ignores that.
- A batch that was given up makes the transaction abortable. Its sequence numbers may be in the log, so the abort is
  followed by InitProducerId with the present id and epoch (KIP-360): with the higher epoch sequences begin at 0.
- The abort of a transaction of which it is unknown whether it began is sent too, and followed by a higher epoch: a
  delayed request of the old epoch cannot begin a transaction that nothing would end.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    DeadlinePassed,
    TransactionFailed,
    VersionUnsupported,
)
from signalbox.client.rejections import CommitFailed, ProducerFenced, RequestRejected, is_final, rejection_of
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_contents import TransactionContents
from signalbox.client.transactions.transaction_reactions import Reaction, Step, gravest, reaction_to
from signalbox.client.transactions.transaction_request import (
    ConsumerGroupMetadata,
    TransactionRequest,
    TransactionResponse,
)
from signalbox.client.transactions.transaction_state import FAILED, OPEN, RETRYING, TRANSITIONS, TransactionState
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError

IMPLICIT_FROM = 2
"""The transaction version from which Produce and TxnOffsetCommit add to the transaction."""

_S = TransactionState
_AT_GROUP = (Step.FIND_GROUP_COORDINATOR, Step.COMMIT_OFFSETS)
_NEVER_ACCEPTED = (VersionUnsupported, AuthenticationRejected)  # of a broker: the next transaction would fail as well
_OF_MEMBER = (
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.STALE_MEMBER_EPOCH,
    Error.REBALANCE_IN_PROGRESS,
)


class TransactionManager:
    """One transactional id. `failure` is the reason of an error state; `failures` counts attempts in a row without
    success; `ended` counts transactions that were committed or aborted, and numbers the one that is open;
    `last_committed` is the number of the last one that was committed."""

    def __init__(self) -> None:
        self.state = TransactionState.UNINITIALIZED
        self.failure: ClientFailure | None = None
        self.failures = 0
        self.ended = 0
        self.last_committed = -1
        self.identity: ProducerIdentity | None = None
        self.version = 1
        self._contents = TransactionContents()
        self._needs_epoch = False
        self._coordinator: int | None = None
        self._group_coordinator: tuple[str, int] | None = None
        self._in_flight: TransactionRequest | None = None

    def initialize(self, version: int) -> None:
        """Ask for a producer id; `version` is the finalized `transaction.version` of the cluster."""
        self.check("init_transactions", _S.UNINITIALIZED)
        self.version = version
        self._become(_S.INITIALIZING)

    def begin(self) -> None:
        self.check("begin_transaction", _S.READY)
        self._become(_S.IN_TRANSACTION)

    def commit(self) -> None:
        self.check("commit_transaction", _S.IN_TRANSACTION)
        self._become(_S.COMMITTING)

    def abort(self) -> None:
        """Also after an abortable error; a fatal one is raised."""
        if not self.can_abort:
            self.check("abort_transaction", _S.IN_TRANSACTION)
        self._contents.drop_pending()
        self.failure = None
        self._become(_S.ABORTING)

    def add_partition(self, partition: TopicPartition) -> None:
        """A record for this partition is queued."""
        self.check_can_add("send")
        if partition in self._contents.added:
            return
        (self._contents.added if self._adds_implicitly else self._contents.to_add).add(partition)

    def add_offsets(self, offsets: Mapping[TopicPartition, CommittedOffset], group: ConsumerGroupMetadata) -> None:
        """Commit these offsets with the transaction."""
        self.check_can_add("send_offsets_to_transaction")
        contents = self._contents
        if contents.offsets and contents.group is not None and contents.group.group_id != group.group_id:
            raise RuntimeError(f"offsets of the group {contents.group.group_id} are still being committed")
        contents.group = group
        contents.offsets.update(offsets)

    @property
    def can_abort(self) -> bool:
        """Whether a transaction is open of which no commit was sent. A commit that waits may wait for ever: for offsets
        of a topic that was deleted."""
        if self.state is _S.COMMITTING:
            return not self._contents.commit_sent
        return self.state in (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR)

    @property
    def has_offsets(self) -> bool:
        """Whether offsets of the transaction are not committed yet."""
        return bool(self._contents.offsets)

    @property
    def is_ending(self) -> bool:
        """Whether batches must not linger: the end of the transaction waits for them."""
        return self.state in (_S.COMMITTING, _S.ABORTING)

    @property
    def drops_batches(self) -> bool:
        """Whether batches that were never sent will not be sent any more."""
        return self.state in FAILED or self.state is _S.ABORTING

    def may_send(self, partition: TopicPartition, *, again: bool) -> bool:
        """Whether a batch may leave now; `again`: it was sent before, and its result is not known."""
        return partition in self._contents.added and self.state in (RETRYING if again else OPEN)

    def batch_sent(self) -> None:
        """A batch leaves: with transaction version 2 that starts the transaction."""
        if self._adds_implicitly:
            self._contents.started = True

    def batch_failed(self, failure: Exception) -> None:
        """A batch was given up: rejected, or not acknowledged within the delivery timeout."""
        error = failure.error if isinstance(failure, KafkaError) else Error.UNKNOWN_SERVER_ERROR
        is_fatal = isinstance(failure, _NEVER_ACCEPTED)
        self._fail(Reaction.FATAL if is_fatal else reaction_to(Step.PRODUCE, error), failure)

    def record_failed(self, failure: ClientFailure) -> None:
        """A record was not queued: it has no sequence number, so the abort needs no higher epoch."""
        self._fail(Reaction.ABORTABLE, failure)

    def fail(self, failure: ClientFailure) -> None:
        """End the producer: no request leaves after this."""
        if self.state is not _S.FATAL_ERROR:
            self._contents.drop_pending()
            self.failure = failure
            self._become(_S.FATAL_ERROR)

    def next_request(self, batches: int) -> TransactionRequest | None:
        """The request to send now. `batches` are those that are neither acknowledged nor given up."""
        if self._in_flight is not None:
            return None
        request = self._in_flight = self._due(batches)
        if request is not None and request.step is Step.COMMIT_OFFSETS and self._adds_implicitly:
            self._contents.started = True
        if request is not None and request.step is Step.COMMIT:
            self._contents.commit_sent = True
        return request

    def answered(self, response: TransactionResponse) -> None:
        """The request in flight has this response."""
        request = self._end_flight()
        self._note_entries(request, response)
        error = response.error or gravest(request.step, response.errors.values())
        reaction = reaction_to(request.step, error)
        if reaction is Reaction.ACCEPT:
            self.failures = 0
            self._accept(request, response)
        elif reaction is Reaction.NOTHING_TO_ABORT and not (
            error == Error.INVALID_TXN_STATE and self._contents.started
        ):
            self._needs_epoch = True
            self._complete()
        elif reaction in (Reaction.RETRY, Reaction.FIND_COORDINATOR):
            self.failures += 1
            if reaction is Reaction.FIND_COORDINATOR:  # which may be the result of an append that succeeds later
                self._contents.maybe_executed(request.step)
                self._forget_coordinator(request.step)
        else:
            kind = CommitFailed if error in _OF_MEMBER else None
            text = f"{request.step.value}: {response.message or error.message}"
            self._fail(reaction, kind(error, text) if kind else rejection_of(error, text))

    def lost(self, failure: ClientFailure, *, maybe_executed: bool) -> None:
        """The request in flight has no response. `maybe_executed`: the broker may have received it."""
        request = self._end_flight()
        if maybe_executed:
            self._contents.maybe_executed(request.step)
        self.failures += 1
        self._forget_coordinator(request.step)
        if is_final(failure):
            self.fail(failure)

    @property
    def _adds_implicitly(self) -> bool:
        return self.version >= IMPLICIT_FROM

    def check_can_add(self, method: str) -> None:
        """Raises what `check` raises, unless records and offsets are accepted."""
        self.check(method, _S.IN_TRANSACTION)

    def check(self, method: str, state: TransactionState) -> None:
        """Raises the failure of an error state; RuntimeError in another state than `state`."""
        if self.state in FAILED and self.failure is not None:
            raise self.failure
        if self.state is not state:
            raise RuntimeError(f"{method} is not possible now: {self.state.value}")

    def _become(self, state: TransactionState) -> None:
        if state not in TRANSITIONS[self.state]:
            raise RuntimeError(f"no transition from {self.state.name} to {state.name}")
        self.state = state

    def _end_flight(self) -> TransactionRequest:
        request, self._in_flight = self._in_flight, None
        if request is None:
            raise RuntimeError("no request is in flight")
        return request

    def _due(self, batches: int) -> TransactionRequest | None:
        contents = self._contents
        if self.state in OPEN and contents.to_add:
            return self._at_coordinator(Step.ADD_PARTITIONS, partitions=frozenset(contents.to_add))
        if self.state in OPEN and contents.offsets and contents.group is not None:
            return self._offsets_request(contents.group)
        if self.state in (_S.COMMITTING, _S.ABORTING) and not batches:
            if contents.may_exist:
                return self._at_coordinator(Step.COMMIT if self.state is _S.COMMITTING else Step.ABORT)
            self._complete()
        return self._at_coordinator(Step.INIT) if self.state is _S.INITIALIZING else None

    def _offsets_request(self, group: ConsumerGroupMetadata) -> TransactionRequest:
        if not self._adds_implicitly and group.group_id not in self._contents.groups_added:
            return self._at_coordinator(Step.ADD_OFFSETS, group=group)
        if self._group_coordinator is None or self._group_coordinator[0] != group.group_id:
            return TransactionRequest(
                step=Step.FIND_GROUP_COORDINATOR, node_id=None, identity=self.identity, group=group
            )
        return TransactionRequest(
            step=Step.COMMIT_OFFSETS,
            node_id=self._group_coordinator[1],
            identity=self.identity,
            group=group,
            offsets=dict(self._contents.offsets),
        )

    def _at_coordinator(
        self,
        step: Step,
        partitions: frozenset[TopicPartition] = frozenset(),
        group: ConsumerGroupMetadata | None = None,
    ) -> TransactionRequest:
        """The request, or the lookup that must come first."""
        if self._coordinator is None:
            return TransactionRequest(step=Step.FIND_COORDINATOR, node_id=None, identity=self.identity)
        return TransactionRequest(
            step=step, node_id=self._coordinator, identity=self.identity, partitions=partitions, group=group
        )

    def _forget_coordinator(self, step: Step) -> None:
        if step in _AT_GROUP:
            self._group_coordinator = None
        else:
            self._coordinator = None

    def _note_entries(self, request: TransactionRequest, response: TransactionResponse) -> None:
        """What the response accepts, even if it rejects the rest."""
        for partition, error in response.errors.items():
            if error == Error.NONE and request.step is Step.ADD_PARTITIONS:
                self._contents.partition_added(partition)
            elif error == Error.NONE and request.step is Step.COMMIT_OFFSETS:
                self._contents.offset_committed(partition, request.offsets)

    def _accept(self, request: TransactionRequest, response: TransactionResponse) -> None:
        step, group = request.step, request.group
        if step is Step.FIND_COORDINATOR:
            self._coordinator = response.node_id
        elif step is Step.FIND_GROUP_COORDINATOR and group is not None:
            self._group_coordinator = group.group_id, response.node_id
        elif step is Step.ADD_OFFSETS and group is not None:
            self._contents.group_added(group.group_id)
        elif step is Step.INIT:
            if self.identity is not None:
                self.ended += 1
            self.identity, self._needs_epoch = response.identity, False
            self._become(_S.READY)
        elif step in (Step.COMMIT, Step.ABORT):
            if response.identity is not None:
                self.identity, self._needs_epoch = response.identity, False
            elif not self._contents.started:
                self._needs_epoch = True
            self._complete()

    def _complete(self) -> None:
        """The transaction is over; what was unknown about it is answered by a higher epoch."""
        self._contents = TransactionContents()
        if self.state is _S.COMMITTING:
            self.last_committed = self.ended
        if self._needs_epoch:
            self._become(_S.INITIALIZING)
        else:
            self.ended += 1
            self._become(_S.READY)

    def _fail(self, reaction: Reaction, failure: Exception) -> None:
        known = _of_transaction(failure)
        if reaction is Reaction.FENCED:
            self.fail(ProducerFenced(Error.PRODUCER_FENCED, f"another producer has the transactional id: {failure}"))
        elif reaction not in (Reaction.ABORTABLE, Reaction.ABORTABLE_NEW_EPOCH):
            self.fail(known)
        elif self._contents.maybe_committed:
            text = f"a commit without a result was then rejected, and it is not known whether it was made: {failure}"
            self.fail(RequestRejected(getattr(failure, "error", Error.UNKNOWN_SERVER_ERROR), text))
        else:
            self._needs_epoch = self._needs_epoch or reaction is Reaction.ABORTABLE_NEW_EPOCH
            if self.state in OPEN:
                self._contents.drop_pending()
                self.failure = known
                self._become(_S.ABORTABLE_ERROR)


def _of_transaction(failure: Exception) -> ClientFailure:
    """The failure as calls raise it. That of a record whose time was over must not look like a call whose time was
    over: an application repeats such a call, and this one would fail the same way at once."""
    if isinstance(failure, DeadlinePassed):
        failed = TransactionFailed(f"abort the transaction: {failure}")
        failed.__cause__ = failure
        return failed
    return failure if isinstance(failure, ClientFailure) else ClientFailure(str(failure))
