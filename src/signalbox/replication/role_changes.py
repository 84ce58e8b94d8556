"""Executes the controller's decisions: opens logs, changes roles, starts and stops fetchers.

It also handles failures of log directories: their partitions go offline and stop, the other partitions continue.
"""

from __future__ import annotations

import logging

from signalbox.common.cooperative_task import no_yield
from signalbox.common.ids import ZERO_UUID, TopicPartition, partition_count, partition_list
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.follower.corrupt_logs import CorruptLogs
from signalbox.replication.follower.fetchers import Fetchers
from signalbox.replication.follower.truncation import report_lost_records
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.follower_progress import FollowerProgress
from signalbox.replication.isr.isr import IsrChanges
from signalbox.replication.isr.isr_decisions import propose_recovered
from signalbox.replication.leader_and_isr import Instruction
from signalbox.replication.partition import NO_LEADER, Partition
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.storage.files.spare_descriptors import OutOfDescriptors
from signalbox.storage.log import Log
from signalbox.storage.log_manager import LogManager

_log = logging.getLogger(__name__)


class RoleChanges:
    """Executes what `Leadership` has checked. Other requests may run between two partitions: batches that they have
    queued are written before a role changes."""

    def __init__(
        self,
        hosted: HostedPartitions,
        logs: LogManager,
        dependencies: Dependencies,
        scheduler: Scheduler,
        components: tuple[Fetchers, FollowerProgress, IsrChanges, CorruptLogs],
    ) -> None:
        self._hosted = hosted
        self._logs = logs
        self._dependencies = dependencies
        self._scheduler = scheduler
        self._fetchers, self._progress, self._isr_changes, self._corrupt_logs = components
        self._to_follow: dict[Partition, None] = {}
        self._elected: list[TopicPartition] = []  # partitions that this request changed, for one log message

    # -- LeaderAndIsr

    def hosted(self, topic_partition: TopicPartition) -> Partition | None:
        return self._hosted.get(*topic_partition)

    def host(self, topic_partition: TopicPartition) -> Partition:
        """The partition; it is created if this broker does not host it yet."""
        partition = self._hosted.get(*topic_partition)
        if partition is None:
            partition = Partition(
                topic_partition, self._dependencies.broker_id, self._scheduler.clock, self._scheduler.purgatory
            )
            partition.apply_settings(self._dependencies.configs.settings(topic_partition.topic))
            self._hosted.add(partition)
            log = self._logs.get(topic_partition)
            if log is not None:
                self._hosted.set_topic_id(partition, log.topic_id)
        return partition

    def lead(self, partition: Partition, instruction: Instruction) -> None:
        """Become the leader. Raises KafkaError if the log cannot be opened."""
        self._fetchers.unfollow(partition)
        self._to_follow.pop(partition, None)
        log = self._open_log(partition, instruction)
        with no_yield():
            self._logs.flush_appends()
            self._become_leader(partition, instruction, log)

    def _become_leader(self, partition: Partition, instruction: Instruction, log: Log) -> None:
        log.check_epochs(instruction.state.leader_epoch)
        if not partition.become_leader(instruction.state, log):
            return
        _log.debug("%s: leading under epoch %d", partition.topic_partition, partition.leader_epoch)
        report_lost_records(log, partition.leader_epoch, is_unclean=partition.unclean_epoch == partition.leader_epoch)
        self._elected.append(partition.topic_partition)
        self._corrupt_logs.on_role_change(partition, instruction.state.isr)
        self._progress.expect_fetches(partition)
        self._isr_changes.submit(partition, propose_recovered(partition))
        for listener in self._dependencies.listeners:
            listener.on_elected(partition.topic_partition, partition.leader_epoch)

    def follow(self, partition: Partition, instruction: Instruction) -> None:
        """Become a follower of a leader that is alive. Raises KafkaError if the log cannot be opened. If there is no
        leader, no log is created: an empty log would look like one that has lost nothing."""
        if instruction.state.leader == NO_LEADER and self._logs.get(partition.topic_partition) is None:
            return
        log = self._open_log(partition, instruction)
        with no_yield():
            self._logs.flush_appends()
            self._become_follower(partition, instruction, log)

    def _become_follower(self, partition: Partition, instruction: Instruction, log: Log) -> None:
        leader = instruction.state.leader
        log.check_epochs(instruction.state.leader_epoch)
        if not self._dependencies.cluster.is_alive(leader):
            if leader == NO_LEADER:
                _log.info("%s: has no leader", partition.topic_partition)
            else:
                _log.error(
                    "Partition %s cannot become a follower: the new leader %d is unavailable (no live broker)",
                    partition.topic_partition,
                    leader,
                )
            return
        if not partition.become_follower(instruction.state, log):
            return
        log.previous_high_watermark = 0  # the leader reports lost records
        self._corrupt_logs.on_role_change(partition, instruction.state.isr)
        _log.debug("%s: following %d under epoch %d", partition.topic_partition, leader, partition.leader_epoch)
        self._progress.forget(partition)
        self._fetchers.unfollow(partition)
        self._to_follow[partition] = None
        for listener in self._dependencies.listeners:
            listener.on_resigned(partition.topic_partition, partition.leader_epoch)

    def done(self) -> None:
        """All partitions of a request are processed: start the fetchers, so that the first fetch has all of them.
        Yields."""
        to_follow, self._to_follow = self._to_follow, {}
        elected, self._elected = self._elected, []
        if elected:
            _log.info("Became leader of %s: %s", partition_count(elected), partition_list(elected))
        for leader_id in sorted({partition.leader_id for partition in to_follow}):
            partitions = [partition.topic_partition for partition in to_follow if partition.leader_id == leader_id]
            _log.info(
                "Became follower of broker %d for %s: %s",
                leader_id,
                partition_count(partitions),
                partition_list(partitions),
            )
        self._fetchers.follow_all(to_follow)
        self._fetchers.close_idle()
        self._isr_changes.dispatch()

    def log_end(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        """(last leader epoch, end offset) of a log, (-1, -1) if there is none, None if its directory is offline. A
        corrupt log ends here at its first corrupt batch."""
        log = self._logs.get(topic_partition)
        if log is None:
            return -1, -1
        if not log.online:
            return None
        end_offset = log.log_end_offset if log.corruption is None else log.corruption.offset
        return (log.last_leader_epoch if log.corruption is None else log.epoch_of(end_offset - 1)), end_offset

    def assign_topic_id(self, partition: Partition, topic_id: bytes) -> None:
        """The topic got its id after this log was created."""
        if partition.log is not None:
            self._logs.create(partition.topic_partition, topic_id, partition.log.config)
        self._hosted.set_topic_id(partition, topic_id)

    def _open_log(self, partition: Partition, instruction: Instruction) -> Log:
        topic_partition = partition.topic_partition
        try:
            config = self._dependencies.configs.log_config(topic_partition.topic)
            log = self._logs.create(topic_partition, instruction.topic_id, config, instruction.state.is_new)
            if log.config != config:  # the log existed, and the configs changed while it was not hosted
                log.update_config(config)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR and not isinstance(error, OutOfDescriptors):
                self.take_offline(partition)
            raise
        self._hosted.set_topic_id(
            partition, instruction.topic_id if instruction.topic_id != ZERO_UUID else log.topic_id
        )
        log.on_advanced = partition.log_advanced
        self._corrupt_logs.watch(partition, log)
        return log

    # -- StopReplica

    def stop(self, topic_partition: TopicPartition, delete: bool) -> None:
        """Stop fetching; `delete` also deletes the replica, even if its partition is not hosted."""
        with no_yield():
            self._logs.flush_appends()
            self._stop(topic_partition, delete)

    def _stop(self, topic_partition: TopicPartition, delete: bool) -> None:
        partition = self._hosted.get(*topic_partition)
        if partition is not None:
            self._fetchers.unfollow(partition)
            self._to_follow.pop(partition, None)
            if delete:
                self._hosted.remove(topic_partition)
                # Deleted with its topic, or moved to other brokers: then waiting clients must find the new leader.
                moved = self._dependencies.cluster.leader_of(topic_partition) is not None
                error = Error.NOT_LEADER_OR_FOLLOWER if moved else Error.UNKNOWN_TOPIC_OR_PARTITION
                self._end(partition, error, offline=False)
                for listener in self._dependencies.listeners:
                    listener.on_resigned(topic_partition, None)
        if delete:
            self._logs.delete(topic_partition)

    # -- failures

    def take_offline(self, partition: Partition) -> None:
        """Take the partition offline: its log directory has failed."""
        if partition.is_offline:
            return
        _log.error("Partition %s is offline on this broker: its log directory has failed", partition.topic_partition)
        self._fetchers.unfollow(partition)
        self._to_follow.pop(partition, None)
        was_leader = partition.is_leader
        self._end(partition, Error.KAFKA_STORAGE_ERROR, offline=True)
        if was_leader:
            for listener in self._dependencies.listeners:
                listener.on_resigned(partition.topic_partition, partition.leader_epoch)

    def take_failed_logs_offline(self) -> None:
        """Take all partitions offline whose log directory is offline."""
        for partition in self._hosted:
            if partition.log is not None and not partition.log.online:
                self.take_offline(partition)

    def _end(self, partition: Partition, error: Error, *, offline: bool) -> None:
        if partition.log is not None:
            partition.log.on_advanced = partition.log.on_corrupt = None
        self._progress.forget(partition)
        partition.retire(error, offline=offline)
