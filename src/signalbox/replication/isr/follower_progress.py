"""Follower progress: a follower's fetch reports its log end, which may move the high watermark and the ISR.

A new leader waits for its followers' first fetches; until then nothing is committed. If a follower's fetch for other
partitions is parked here, its next fetch would come only when that one ends (replica.fetch.wait.max.ms), and the first
acks=all on every new topic would wait as long. So a leader that expects a follower completes its parked fetches, and
parks the next ones only briefly until the follower has fetched all expected partitions: ten milliseconds at first,
longer with the age of the leadership.
"""

from __future__ import annotations

from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.fetch.fetch_session import SessionPartition
from signalbox.replication.isr.isr import IsrChanges
from signalbox.replication.isr.isr_decisions import propose_expansion
from signalbox.replication.partition import Partition
from signalbox.replication.replica_dependencies import Scheduler

_SHORTEST_WAIT_MS = 10


class FollowerProgress:
    """Records fetches of followers on the partitions that this broker leads."""

    def __init__(self, cluster: MetadataCache, isr_changes: IsrChanges, scheduler: Scheduler) -> None:
        self._cluster = cluster
        self._isr_changes = isr_changes
        self._scheduler = scheduler
        self._expected: dict[int, dict[Partition, int]] = {}  # by replica: partitions led since when, ms

    def expect_fetches(self, partition: Partition) -> None:
        """This broker has become the leader: its followers should fetch the partition soon."""
        now_ms = self._scheduler.clock.now_ms()
        for replica_id in partition.followers:
            self._expected.setdefault(replica_id, {})[partition] = now_ms
            self._scheduler.purgatory.wake(self._scheduler.purgatory.of_replica(replica_id))

    def forget(self, partition: Partition) -> None:
        """This broker is no longer the leader of the partition."""
        for expected in self._expected.values():
            expected.pop(partition, None)

    def longest_wait_ms(self, replica_id: int, max_wait_ms: int) -> int:
        """How long a fetch of this follower may be parked."""
        expected = self._expected.get(replica_id)
        if not expected:
            return max_wait_ms
        age_ms = self._scheduler.clock.now_ms() - max(expected.values())
        return min(max_wait_ms, max(_SHORTEST_WAIT_MS, age_ms // 4))

    def record(
        self, partition: Partition, session_partition: SessionPartition, replica_id: int, replica_epoch: int
    ) -> None:
        """The follower has everything below `session_partition.fetch_offset`, which has been validated.
        NOT_LEADER_OR_FOLLOWER for a broker that is not a replica, and for an older registration of one (KIP-903)."""
        follower = partition.followers.get(replica_id)
        if follower is None:
            raise KafkaError(
                Error.NOT_LEADER_OR_FOLLOWER, f"broker {replica_id} is no replica of {partition.topic_partition}"
            )
        if replica_epoch != -1:
            if replica_epoch < follower.broker_epoch:
                raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER, f"broker {replica_id} has a newer broker epoch")
            follower.broker_epoch = replica_epoch
        if (expected := self._expected.get(replica_id)) is not None:
            expected.pop(partition, None)
        partition.record_follower_fetch(replica_id, session_partition.fetch_offset, session_partition.log_start_offset)
        if replica_id not in partition.maximal_isr:
            proposal = propose_expansion(partition, follower, self._cluster)
            if proposal is not None:
                self._isr_changes.submit(partition, proposal)

    def dispatch_isr_changes(self) -> None:
        """The fetch has been read: send the ISR changes that it caused."""
        self._isr_changes.dispatch()
