"""What one transaction consists of, and what the coordinator knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition

_STARTING = (Step.ADD_PARTITIONS, Step.ADD_OFFSETS, Step.COMMIT_OFFSETS)


@dataclass(slots=True)
class TransactionContents:
    """`started`: the coordinator has the transaction, so that EndTxn must end it. `maybe_started`: a request that would
    have started it has no known result. `commit_sent`: an EndTxn that commits was sent; `maybe_committed`: it has no
    known result. `offsets` are those to commit yet."""

    to_add: set[TopicPartition] = field(default_factory=set)
    added: set[TopicPartition] = field(default_factory=set)
    offsets: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    group: ConsumerGroupMetadata | None = None
    groups_added: set[str] = field(default_factory=set)
    started: bool = False
    maybe_started: bool = False
    commit_sent: bool = False
    maybe_committed: bool = False

    @property
    def may_exist(self) -> bool:
        """Whether the coordinator may have the transaction."""
        return self.started or self.maybe_started

    def drop_pending(self) -> None:
        """Nothing is added any more: the transaction will be aborted."""
        self.to_add.clear()
        self.offsets.clear()

    def maybe_executed(self, step: Step) -> None:
        """The coordinator may have executed a request without a known result."""
        self.maybe_started = self.maybe_started or step in _STARTING
        self.maybe_committed = self.maybe_committed or step is Step.COMMIT

    def partition_added(self, partition: TopicPartition) -> None:
        self.to_add.discard(partition)
        self.added.add(partition)
        self.started = True

    def group_added(self, group_id: str) -> None:
        self.groups_added.add(group_id)
        self.started = True

    def offset_committed(self, partition: TopicPartition, sent: Mapping[TopicPartition, CommittedOffset]) -> None:
        """The coordinator of the group has the offset that was sent; a newer one still has to be committed."""
        if self.offsets.get(partition) == sent.get(partition):
            self.offsets.pop(partition, None)
