"""A coordinator's log: its internal topic as replication hosts it (`coordinator/ports.CoordinatorLog`)."""

from __future__ import annotations

from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.produce.append import NO_GUARD_BY_PARTITION
from signalbox.replication.produce.pending_append import ACKS_ALL, PendingAppend
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.storage.log import Log
from signalbox.storage.producers.producer_state import NO_SEQUENCE
from signalbox.storage.producers.transaction_verification import VerificationGuard


class ReplicatedCoordinatorLog:
    """Appends with acks=all and reads whole batches of those partitions of `topic` that this broker leads."""

    def __init__(self, replicas: ReplicaManager, topic: str, commit_timeout_ms: int) -> None:
        self.topic = topic
        self._replicas = replicas
        self._commit_timeout_ms = commit_timeout_ms

    def append(self, partition: int, leader_epoch: int, batch: bytearray, guard: object | None = None) -> Promise[None]:
        self._leader_log(partition, leader_epoch)
        key = TopicPartition(self.topic, partition)
        append = self._replicas.append(
            [(key, batch)],
            ACKS_ALL,
            self._commit_timeout_ms,
            from_client=False,
            guard_by_partition={key: guard} if isinstance(guard, VerificationGuard) else NO_GUARD_BY_PARTITION,
        )
        if append.is_done:
            _raise_rejection(append.result())
        return append.map(_raise_rejection)

    def start_verification(self, partition: int, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        now_ms = self._replicas.scheduler.clock.now_ms()
        log = self._leader_log(partition)
        return log.start_verification(*producer, NO_SEQUENCE, now_ms, raises_epochs=raises_epochs)

    def abandon_verification(self, partition: int, producer_id: int, guard: object) -> None:
        hosted = self._replicas.partition(self.topic, partition)
        if hosted is not None and hosted.log is not None and isinstance(guard, VerificationGuard):
            hosted.log.abandon_verification(producer_id, guard)

    def start_offset(self, partition: int) -> int:
        return self._leader_log(partition).log_start_offset

    def end_offset(self, partition: int) -> int:
        return self._leader_log(partition).log_end_offset

    def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes:
        log = self._leader_log(partition)
        if from_offset >= log.log_end_offset:
            return b""
        records = log.read(from_offset, max_bytes).records
        return records.read() if not isinstance(records, bytes) else records

    def _leader_log(self, partition: int, leader_epoch: int = -1) -> Log:
        hosted = self._replicas.partition(self.topic, partition)
        if hosted is None:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        return hosted.local_log(leader_epoch)


def _raise_rejection(appends: list[PendingAppend]) -> None:
    [append] = appends
    if append.error:
        raise KafkaError(Error.of(append.error), append.error_message)


class Coordinator(Protocol):
    """What coordinates the partitions of an internal topic: `GroupCoordinator`."""

    def on_elected(self, partition: int, leader_epoch: int) -> None: ...

    def on_resigned(self, partition: int, leader_epoch: int | None) -> None: ...


class CoordinatorLeadership:
    """Implements `replication/ports.LeadershipListener`: the leader of a partition of `topic` coordinates its groups
    or transactions. `coordinator` is set when it exists, since it needs the replica manager."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.coordinator: Coordinator | None = None

    def on_elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        if topic_partition.topic == self._topic and self.coordinator is not None:
            self.coordinator.on_elected(topic_partition.partition, leader_epoch)

    def on_resigned(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        if topic_partition.topic == self._topic and self.coordinator is not None:
            self.coordinator.on_resigned(topic_partition.partition, leader_epoch)
