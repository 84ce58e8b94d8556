"""Ports: what replication needs of other packages; `wiring` passes the implementations."""

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


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topic configs that replication uses; storage reads the others."""

    min_insync_replicas: int = 1
    deletes_records: bool = True  # cleanup.policy contains delete
    unclean_leader_election: bool = False


class AlterPartitionSender(Protocol):
    """Sends AlterPartition to the active controller. One call at a time, each with exactly one result."""

    def send(
        self,
        request: AlterPartitionRequest,
        on_response: Callable[[AlterPartitionResponse | Error], None],
    ) -> None:
        """`on_response` gets the response, or the error for which there is none. The sender finds the active
        controller itself; it calls `on_response` before this returns only if the sender is closed."""
        ...


OnResponse = Callable[[Any | Exception], None]


class LeaderChannel(Protocol):
    """A fetcher's channel to one leader broker: requests and responses in order, on the data loop."""

    def send(self, request: FetchRequest | ListOffsetsRequest, on_response: OnResponse) -> None:
        """`on_response` gets the response message, or the exception for which there is none (not connected, closed,
        timed out); never before this returns. Record fields of a response are valid during the call only."""
        ...

    def reconnect(self) -> None:
        """Close the connection soon; the next request opens another to the broker's endpoint of that time."""
        ...

    def close(self) -> None:
        """Close the channel; `on_response` is not called any more."""
        ...


class LeaderChannels(Protocol):
    def open(self, broker_id: int) -> LeaderChannel:
        """A channel to the broker's inter-broker listener; it connects and reconnects automatically."""
        ...


class TopicConfigs(Protocol):
    """Current topic configs."""

    def log_config(self, topic: str) -> LogConfig: ...

    def settings(self, topic: str) -> TopicSettings: ...


class LeadershipListener(Protocol):
    """Called when LeaderAndIsr or StopReplica was applied (the group coordinator loads and unloads shards)."""

    def on_elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None: ...

    def on_resigned(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        """This broker is no longer the leader. `leader_epoch` is None if the replica was deleted."""
        ...
