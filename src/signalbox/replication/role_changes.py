"""Carrying out what the controller decided: logs are opened, roles change, fetchers start and stop.

Also what a broker does to itself: when a log directory fails, its partitions go offline and stop, and the rest goes on.
"""

from __future__ import annotations

import logging

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.common.long_work import in_one_breath
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.fetchers import Fetchers
from signalbox.replication.follower_progress import FollowerProgress
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.isr import IsrChanges
from signalbox.replication.isr_decisions import propose_recovered
from signalbox.replication.leadership import Instruction
from signalbox.replication.partition import NO_LEADER, Partition
from signalbox.replication.partition_list import partition_list
from signalbox.replication.replica_parts import Engine, Neighbours
from signalbox.storage.log import Log
from signalbox.storage.log_manager import LogManager

_log = logging.getLogger(__name__)


class RoleChanges:
    """The acting half of `Leadership`. Others may run between two partitions: what they have queued is written before a
    role changes."""

    def __init__(
        self,
        hosted: HostedPartitions,
        logs: LogManager,
        neighbours: Neighbours,
        engine: Engine,
        movers: tuple[Fetchers, FollowerProgress, IsrChanges],
    ) -> None:
        self._hosted = hosted
        self._logs = logs
        self._neighbours = neighbours
        self._engine = engine
        self._fetchers, self._progress, self._isr_changes = movers
        self._to_follow: dict[Partition, None] = {}
        self._elected: list[TopicPartition] = []  # what this request changed, for one line of log

    # -- LeaderAndIsr

    def hosted(self, topic_partition: TopicPartition) -> Partition | None:
        return self._hosted.get(*topic_partition)

    def host(self, topic_partition: TopicPartition) -> Partition:
        """The partition, made when this broker has none yet."""
        partition = self._hosted.get(*topic_partition)
        if partition is None:
            partition = Partition(
                topic_partition, self._neighbours.broker_id, self._engine.clock, self._engine.purgatory
            )
            partition.take_settings(self._neighbours.configs.settings(topic_partition.topic))
            self._hosted.add(partition)
            log = self._logs.get(topic_partition)
            if log is not None:
                self._hosted.name_topic(partition, log.topic_id)
        return partition

    def lead(self, partition: Partition, order: Instruction) -> None:
        """Become the leader. Raises KafkaError when there is no log to lead."""
        self._fetchers.unfollow(partition)
        self._to_follow.pop(partition, None)
        log = self._open_log(partition, order)
        with in_one_breath():
            self._logs.flush_appends()
            self._become_leader(partition, order, log)

    def _become_leader(self, partition: Partition, order: Instruction, log: Log) -> None:
        if not partition.become_leader(order.state, log):
            return
        _log.debug("%s: leading under epoch %d", partition.topic_partition, partition.leader_epoch)
        self._elected.append(partition.topic_partition)
        self._progress.expect(partition)
        self._isr_changes.submit(partition, propose_recovered(partition))
        for listener in self._neighbours.listeners:
            listener.on_elected(partition.topic_partition, partition.leader_epoch)

    def follow(self, partition: Partition, order: Instruction) -> None:
        """Become a follower of a leader that is alive. Raises KafkaError when there is no log to write to."""
        log = self._open_log(partition, order)
        with in_one_breath():
            self._logs.flush_appends()
            self._become_follower(partition, order, log)

    def _become_follower(self, partition: Partition, order: Instruction, log: Log) -> None:
        leader = order.state.leader
        if not self._neighbours.cluster.is_alive(leader):
            if leader == NO_LEADER:
                _log.info("%s: nobody can lead it now", partition.topic_partition)
            else:
                _log.error("%s: its leader %d is not known to be alive", partition.topic_partition, leader)
            return
        if not partition.become_follower(order.state, log):
            return
        _log.debug("%s: following %d under epoch %d", partition.topic_partition, leader, partition.leader_epoch)
        self._progress.forget(partition)
        self._fetchers.unfollow(partition)
        self._to_follow[partition] = None
        for listener in self._neighbours.listeners:
            listener.on_resigned(partition.topic_partition, partition.leader_epoch)

    def done(self) -> None:
        """All partitions of a request are decided: fetchers start together, so that their first fetch has them all."""
        to_follow, self._to_follow = self._to_follow, {}
        elected, self._elected = self._elected, []
        if elected:
            _log.info("leading %d partitions from now on: %s", len(elected), partition_list(elected))
        for leader_id in sorted({partition.leader_id for partition in to_follow}):
            followed = [each.topic_partition for each in to_follow if each.leader_id == leader_id]
            _log.info("following broker %d in %d partitions: %s", leader_id, len(followed), partition_list(followed))
        self._fetchers.follow_all(to_follow)
        self._fetchers.close_idle()
        self._isr_changes.dispatch()

    def assign_topic_id(self, partition: Partition, topic_id: bytes) -> None:
        """The topic has got an id since this log was made."""
        if partition.log is not None:
            self._logs.create(partition.topic_partition, topic_id, partition.log.config)
        self._hosted.name_topic(partition, topic_id)

    def _open_log(self, partition: Partition, order: Instruction) -> Log:
        topic_partition = partition.topic_partition
        try:
            config = self._neighbours.configs.log_config(topic_partition.topic)
            log = self._logs.create(topic_partition, order.topic_id, config, order.state.is_new)
            if log.config != config:  # it was there before, and its configs have changed while nobody hosted it
                log.update_config(config)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self.take_offline(partition)
            raise
        self._hosted.name_topic(partition, order.topic_id if order.topic_id != ZERO_UUID else log.topic_id)
        log.on_advanced = partition.log_advanced
        return log

    # -- StopReplica

    def stop(self, topic_partition: TopicPartition, delete: bool) -> None:
        """Stop fetching; with `delete` the replica is gone, also one whose partition is not hosted."""
        with in_one_breath():
            self._logs.flush_appends()
            self._stop(topic_partition, delete)

    def _stop(self, topic_partition: TopicPartition, delete: bool) -> None:
        partition = self._hosted.get(*topic_partition)
        if partition is not None:
            self._fetchers.unfollow(partition)
            self._to_follow.pop(partition, None)
            if delete:
                self._hosted.remove(topic_partition)
                # Deleted with its topic, or moved to other brokers: what waits here goes to them.
                moved = self._neighbours.cluster.leader_of(topic_partition) is not None
                gone = Error.NOT_LEADER_OR_FOLLOWER if moved else Error.UNKNOWN_TOPIC_OR_PARTITION
                self._end(partition, gone, offline=False)
                for listener in self._neighbours.listeners:
                    listener.on_resigned(topic_partition, None)
        if delete:
            self._logs.delete(topic_partition)

    # -- failures

    def take_offline(self, partition: Partition) -> None:
        """The partition's log directory has failed."""
        if partition.is_offline:
            return
        _log.error("%s: offline, its log directory has failed", partition.topic_partition)
        self._fetchers.unfollow(partition)
        self._to_follow.pop(partition, None)
        led = partition.is_leader
        self._end(partition, Error.KAFKA_STORAGE_ERROR, offline=True)
        if led:
            for listener in self._neighbours.listeners:
                listener.on_resigned(partition.topic_partition, partition.leader_epoch)

    def take_failed_logs_offline(self) -> None:
        """Every partition whose directory is offline by now."""
        for partition in self._hosted:
            if partition.log is not None and not partition.log.online:
                self.take_offline(partition)

    def _end(self, partition: Partition, error: Error, *, offline: bool) -> None:
        if partition.log is not None:
            partition.log.on_advanced = None
        self._progress.forget(partition)
        partition.retire(error, offline=offline)
