"""What an application gives a group consumer: its settings, and a listener for rebalances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from signalbox.client.application_rows import CONSUMER_CONFIG, field_values
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.failures import ConfigRejected
from signalbox.client.group_consumer.range_assignor import assignors_of
from signalbox.common.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConsumerSettings:
    """Fields are Kafka's consumer keys. ConfigRejected for values that exclude each other."""

    group_id: str
    group_instance_id: str | None = None
    partition_assignment_strategy: Sequence[str] = ("range", "cooperative-sticky")
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    client_rack: str | None = None
    fetch: ConsumerSettings = field(default_factory=lambda: ConsumerSettings(auto_offset_reset="latest"))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> GroupConsumerSettings:
        """Settings from Kafka's keys. ConfigRejected lists every fault at once; unknown keys are ignored."""
        values = field_values(CONSUMER_CONFIG, properties, cls)
        values["group_id"] = values["group_id"] or ""
        return cls(**values, fetch=ConsumerSettings.from_properties(properties))

    def __post_init__(self) -> None:
        if not self.group_id:
            raise ConfigRejected("group.id is empty")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigRejected(
                f"heartbeat.interval.ms {self.heartbeat_interval_ms} must be lower than session.timeout.ms"
                f" {self.session_timeout_ms}"
            )
        try:
            assignors = assignors_of(self.partition_assignment_strategy)
        except ValueError as error:
            raise ConfigRejected(str(error)) from error
        if not assignors:
            raise ConfigRejected("partition.assignment.strategy is empty")

    @property
    def cooperative(self) -> bool:
        """Whether members keep their partitions during a rebalance: only if every assignor allows it, because the group
        may choose any of them."""
        return all(assignor.cooperative for assignor in assignors_of(self.partition_assignment_strategy))


class RebalanceListener:
    """Override what is of interest. `poll` and `close` call the methods and wait for them, each once. They raise the
    first exception when the rebalance or the close is complete.

    Assignors that are not cooperative revoke all partitions before each rebalance and assign all after it."""

    async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """New partitions. They are read from their committed offsets unless this method calls `seek`."""

    async def on_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that this member gives up: still its own, so that it can commit their offsets."""

    async def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that another member may have by now: too late to commit."""
