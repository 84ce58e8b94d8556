"""What replication needs of its neighbours, in its own words; wiring hands in the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.storage.log_config import LogConfig


class ClusterView(Protocol):
    """The cluster as the last UpdateMetadata left it."""

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is registered (and so may join an ISR or be fetched from)."""
        ...

    def topic_name(self, topic_id: bytes) -> str | None: ...

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        """(leader id or -1, leader epoch), None for a partition that the cluster does not have."""
        ...


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topic configs that replication itself obeys; storage reads the others."""

    min_insync_replicas: int = 1
    deletes_records: bool = True  # cleanup.policy contains delete


class AlterPartitionSender(Protocol):
    """The way of AlterPartition to the active controller. One call at a time, each ends in exactly one answer."""

    def send(
        self,
        request: AlterPartitionRequest,
        on_answer: Callable[[AlterPartitionResponse | Error], None],
    ) -> None:
        """`on_answer` gets the response, or the error that kept it from coming. The sender finds the active
        controller by itself; `on_answer` may be called before this returns only when the sender is closed."""
        ...


Answered = Callable[[Any | Exception], None]


class LeaderChannel(Protocol):
    """A fetcher's way to one leader broker: requests in order, answers in order, on the data loop."""

    def send(self, request: FetchRequest | ListOffsetsRequest, on_answer: Answered) -> None:
        """`on_answer` gets the response message, or the exception that kept it from coming (not connected, closed,
        timed out); never before this returns. Record fields of a response are valid during the call only."""
        ...

    def close(self) -> None:
        """Forget everything; nothing is answered any more."""
        ...


class LeaderChannels(Protocol):
    def open(self, broker_id: int) -> LeaderChannel:
        """A channel to the broker's endpoint on the inter-broker listener; it connects and reconnects by itself."""
        ...


class TopicConfigs(Protocol):
    """Topic configs as they stand now."""

    def log_config(self, topic: str) -> LogConfig: ...

    def settings(self, topic: str) -> TopicSettings: ...


class LeadershipListener(Protocol):
    """Told after LeaderAndIsr and StopReplica have been applied (the group coordinator loads and unloads shards)."""

    def on_elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None: ...

    def on_resigned(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        """This broker no longer leads. `leader_epoch` is None when the replica was deleted."""
        ...
