"""Ports: what replication needs of other packages; `wiring` passes the implementations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
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
