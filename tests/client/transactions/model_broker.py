"""A cluster with one transactional id, as far as a producer can see it: the coordinator's rules and partitions' logs.

Requests arrive as the values of the manager, so that a test can lose them before or after they are executed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import TransactionRequest, TransactionResponse
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

EMPTY, ONGOING, COMMITTED, ABORTED = "Empty", "Ongoing", "CompleteCommit", "CompleteAbort"
_REJECTED = TransactionResponse(error=Error.INVALID_TXN_STATE)


@dataclass
class ModelBroker:
    """`log`: (partition, value) of the open transaction; `visible`: those of committed ones."""

    version: int
    epoch: int = -1
    last_epoch: int = -1
    state: str = EMPTY
    partitions: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    committed_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    log: list[tuple[TopicPartition, int]] = field(default_factory=list)
    visible: list[tuple[TopicPartition, int]] = field(default_factory=list)

    def execute(self, request: TransactionRequest) -> TransactionResponse:
        if request.node_id is None:
            return TransactionResponse(node_id=1)
        if request.step is Step.INIT:
            return self._init(request)
        if request.step in (Step.COMMIT, Step.ABORT):
            return self._end(request, commit=request.step is Step.COMMIT)
        assert request.identity is not None
        if request.identity.producer_epoch != self.epoch:
            return TransactionResponse(error=Error.PRODUCER_FENCED)
        if request.step is Step.ADD_PARTITIONS:
            self._begin()
            self.partitions |= request.partitions
            return TransactionResponse(errors=dict.fromkeys(request.partitions, Error.NONE))
        assert request.group is not None
        if request.step is Step.ADD_OFFSETS:
            self._begin()
            self.groups.add(request.group.group_id)
            return TransactionResponse()
        if self.version > 1:
            self._begin()
            self.groups.add(request.group.group_id)
        assert request.group.group_id in self.groups, "offsets of a group that was not added"
        self.offsets.update({partition: row.offset for partition, row in request.offsets.items()})
        return TransactionResponse(errors=dict.fromkeys(request.offsets, Error.NONE))

    def produce(self, partition: TopicPartition, value: int, epoch: int) -> Error:
        """Append a value, once; the sequence number of a batch is its value."""
        if epoch != self.epoch:
            return Error.INVALID_PRODUCER_EPOCH
        if self.version > 1:
            self._begin()
            self.partitions.add(partition)
        assert partition in self.partitions, "a batch for a partition that was not added"
        if (partition, value) not in self.log:
            self.log.append((partition, value))
        return Error.NONE

    def _begin(self) -> None:
        if self.state != ONGOING:
            assert not self.log
            self.state = ONGOING

    def _init(self, request: TransactionRequest) -> TransactionResponse:
        recovers = request.identity is not None
        if request.identity is not None and request.identity.producer_epoch not in (self.epoch, self.last_epoch):
            return TransactionResponse(error=Error.PRODUCER_FENCED)
        if self.state == ONGOING:
            self._finish(commit=False)
            return TransactionResponse(error=Error.CONCURRENT_TRANSACTIONS)
        if not recovers or (request.identity is not None and request.identity.producer_epoch == self.epoch):
            self.last_epoch, self.epoch = self.epoch, self.epoch + 1
        self.state = EMPTY
        return self._identity()

    def _identity(self) -> TransactionResponse:
        return TransactionResponse(identity=ProducerIdentity(1, self.epoch, "c", transactional=True))

    def _end(self, request: TransactionRequest, *, commit: bool) -> TransactionResponse:
        assert request.identity is not None
        epoch, done = request.identity.producer_epoch, COMMITTED if commit else ABORTED
        if self.version > 1 and epoch == self.epoch - 1:  # a retry
            return self._identity() if self.state == done else TransactionResponse(error=Error.PRODUCER_FENCED)
        if epoch != self.epoch:
            return TransactionResponse(error=Error.PRODUCER_FENCED)
        if self.version == 1 and self.state != ONGOING:
            return TransactionResponse() if self.state == done else _REJECTED
        if self.state != ONGOING and commit:
            return _REJECTED
        self._finish(commit=commit)
        if self.version == 1:
            return TransactionResponse()
        self.last_epoch, self.epoch = self.epoch, self.epoch + 1
        return self._identity()

    def _finish(self, *, commit: bool) -> None:
        if commit:
            self.visible += self.log
            self.committed_offsets.update(self.offsets)
        self.log.clear()
        self.offsets.clear()
        self.partitions.clear()
        self.groups.clear()
        self.state = COMMITTED if commit else ABORTED
