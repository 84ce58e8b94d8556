"""One partition on this broker: leader, leader epoch, ISR and high watermark.

The state changes by LeaderAndIsr (`become_leader`, `become_follower`), by followers' fetches (`record_follower_fetch`)
and by the controller's responses to AlterPartition (`isr_decisions`). Rules: KIP-101 and KIP-320 (leader epochs),
KIP-497 (ISR through the controller). `stamp` increases with every change on which a request template of the fast path
depends: leadership, leader epoch, log, going offline.

The high watermark is the smallest log end offset of the replicas in the maximal ISR and moves only while the confirmed
ISR has min.insync.replicas members (KIP-966). The last stable offset follows it: it changes only when the high
watermark or the log start moves, so that their waiters are also those of readers of committed records.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.clock import Clock
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.isr.follower_state import FollowerState
from signalbox.replication.isr.isr_state import IsrState
from signalbox.replication.leader_and_isr import PartitionState
from signalbox.replication.ports import TopicSettings
from signalbox.replication.produce.rejected_sequences import RejectedSequences
from signalbox.replication.topic_stats import TopicStats
from signalbox.replication.waiting.partition_waiters import PartitionWaiters
from signalbox.replication.waiting.purgatory import Purgatory
from signalbox.storage.log import Log

NO_LEADER = -1
NO_EPOCH = -1


class Partition(PartitionWaiters):
    """State of one hosted partition. Single-threaded; I/O only through the log."""

    def __init__(self, topic_partition: TopicPartition, local_id: int, clock: Clock, purgatory: Purgatory) -> None:
        super().__init__(purgatory)
        self.topic_partition = topic_partition
        self.local_id = local_id
        self.topic_id = ZERO_UUID
        self.log: Log | None = None
        self.settings = TopicSettings()
        self.stamp = 0
        self.is_offline = False
        self.is_leader = False
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.leader_epoch_start_offset: int | None = None
        self.led_since = 0, 0  # log end offset and time (ms) when it last became the leader
        self.partition_epoch = NO_EPOCH
        self.unclean_epoch = NO_EPOCH  # of the last unclean election: records of earlier epochs may be truncated
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.maximal_isr: frozenset[int] = frozenset()
        self.effective_min_isr = 1
        self.rejected = RejectedSequences()
        self.stats = TopicStats()  # the topic's, from `HostedPartitions.add` on
        self._clock = clock
        self._isr = IsrState()
        self._isr_followers: tuple[FollowerState, ...] = ()
        self._may_commit = False

    def __repr__(self) -> str:
        role = "leader" if self.is_leader else f"follower of {self.leader_id}"
        return f"<Partition {self.topic_partition} {role}, leader epoch {self.leader_epoch}>"

    # -- checks of requests

    def check_leader_epoch(self, request_leader_epoch: int) -> None:
        """Fence a request by its leader epoch; -1 is not checked (KIP-320)."""
        if request_leader_epoch == self.leader_epoch or request_leader_epoch == NO_EPOCH:
            return
        if request_leader_epoch < self.leader_epoch:
            raise KafkaError(Error.FENCED_LEADER_EPOCH)
        raise KafkaError(Error.UNKNOWN_LEADER_EPOCH)

    def local_log(self, request_leader_epoch: int = NO_EPOCH, *, as_leader: bool = True) -> Log:
        """The log, if this replica can serve the request. FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
        NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR."""
        if self.is_offline:
            raise KafkaError(Error.KAFKA_STORAGE_ERROR)
        self.check_leader_epoch(request_leader_epoch)
        if self.log is None or (as_leader and not self.is_leader):
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        return self.log

    @property
    def isr(self) -> tuple[int, ...]:
        """The ISR that the controller has confirmed."""
        return self._isr.isr

    @property
    def isr_state(self) -> IsrState:
        return self._isr

    @property
    def high_watermark(self) -> int:
        assert self.log is not None
        return self.log.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The end offset (exclusive) for read_committed readers."""
        assert self.log is not None
        return self.log.last_stable_offset

    @property
    def high_watermark_lags(self) -> bool:
        """Whether this is a new leader that does not yet know its predecessor's high watermark (KIP-207)."""
        start = self.leader_epoch_start_offset
        return start is not None and self.log is not None and start > self.log.high_watermark

    # -- roles

    def become_leader(self, state: PartitionState, log: Log) -> bool:
        """Become the leader with `state`; True if the leader epoch is new. An older partition epoch is ignored."""
        if state.partition_epoch < self.partition_epoch:
            return False
        new_leader = not self.is_leader
        new_leader_epoch = state.leader_epoch > self.leader_epoch
        now_ms = self._clock.now_ms()
        self.log = log
        self._apply_assignment(state)
        self.followers = {
            replica: self.followers.get(replica) or FollowerState(replica, self.purgatory.of_replica(replica))
            for replica in self.replicas
            if replica != self.local_id
        }
        if new_leader_epoch:
            end_offset = log.log_end_offset
            self.leader_epoch_start_offset = end_offset
            log.assign_epoch_start(state.leader_epoch, end_offset)
            for follower in self.followers.values():
                in_sync = follower.broker_id in state.isr
                follower.reset(now_ms, end_offset, new_leader=new_leader, in_sync=in_sync)
        if new_leader:
            self.led_since = log.log_end_offset, now_ms
        self.is_leader = True
        self.leader_id = self.local_id
        self._apply_epochs(state)
        self.set_isr(IsrState(tuple(state.isr), state.leader_recovery_state))
        self.advance_high_watermark()
        self.wake_all()
        return new_leader_epoch

    def become_follower(self, state: PartitionState, log: Log) -> bool:
        """Follow `state.leader`; True if the leader epoch is new. An older partition epoch is ignored."""
        if state.partition_epoch < self.partition_epoch:
            return False
        new_leader_epoch = state.leader_epoch > self.leader_epoch
        self.wake_followers()
        self.log = log
        self._apply_assignment(state)
        self.is_leader = False
        self.followers = {}
        self.leader_id = state.leader
        self.leader_epoch_start_offset = None
        self._apply_epochs(state)
        self.set_isr(IsrState())
        self.fail_waiting(Error.NOT_LEADER_OR_FOLLOWER)
        self.wake_all()
        return new_leader_epoch

    def retire(self, error: Error, *, offline: bool = False) -> None:
        """The replica is stopped or deleted, or its log directory failed: all waiting requests get `error`."""
        self.wake_followers()
        self.is_leader = False
        self.is_offline = offline
        self.leader_id = NO_LEADER
        self.log = None
        self.followers = {}
        self.leader_epoch_start_offset = None
        self.set_isr(IsrState())
        self.stamp += 1
        self.fail_waiting(error)
        self.wake_all()

    def _apply_assignment(self, state: PartitionState) -> None:
        self.replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.removing_replicas = tuple(state.removing_replicas)

    def _apply_epochs(self, state: PartitionState) -> None:
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.unclean_epoch = own_tags.unclean_epoch(state)
        self.stamp += 1

    # -- ISR and high watermark

    def set_isr(self, state: IsrState) -> None:
        """Set the ISR, and recompute the followers for which the high watermark waits."""
        self._isr = state
        self.maximal_isr = state.maximal
        self._isr_followers = tuple(f for f in self.followers.values() if f.broker_id in state.maximal)
        self._update_min_isr()

    def apply_settings(self, settings: TopicSettings) -> None:
        """Apply the topic's configs, at the start and at every change."""
        self.settings = settings
        self._update_min_isr()
        self.advance_high_watermark()

    def _update_min_isr(self) -> None:
        self.effective_min_isr = min(self.settings.min_insync_replicas, max(1, len(self.replicas)))
        self._may_commit = self.is_leader and len(self._isr.isr) >= self.effective_min_isr

    @property
    def has_enough_in_sync(self) -> bool:
        """Whether the ISR is large enough for acks=all."""
        return self._may_commit

    def record_follower_fetch(self, replica_id: int, fetch_offset: int, log_start_offset: int) -> bool:
        """A follower has everything below `fetch_offset`. True if the high watermark moved."""
        follower = self.followers[replica_id]
        log = self.log
        assert log is not None
        log_start_moved = follower.log_start_offset != log_start_offset
        follower.record_fetch(fetch_offset, log_start_offset, log.log_end_offset, self._clock.now_ms())
        advanced = self.advance_high_watermark()
        if log_start_moved and not advanced:
            self.wake_commit_watchers()
        return advanced

    def touch_follower(
        self, replica_id: int, fetch_offset: int, log_start_offset: int, replica_epoch: int = -1
    ) -> bool:
        """A member of the ISR repeats a fetch: only the time is updated. False if anything else has changed, such as
        the offsets or the broker epoch (-1: not in the request)."""
        follower = self.followers.get(replica_id)
        log = self.log
        if (
            follower is None
            or log is None
            or follower.log_end_offset != fetch_offset
            or follower.log_start_offset != log_start_offset
            or replica_epoch not in (-1, follower.broker_epoch)
            or replica_id not in self._isr.isr
        ):
            return False
        follower.record_fetch(fetch_offset, log_start_offset, log.log_end_offset, self._clock.now_ms())
        return True

    def advance_high_watermark(self) -> bool:
        """Move the high watermark as far as the maximal ISR allows; completes the appends below it."""
        if not self._may_commit:
            return False
        log = self.log
        assert log is not None
        new_high_watermark = log.log_end_offset
        for follower in self._isr_followers:
            if follower.log_end_offset < new_high_watermark:
                new_high_watermark = follower.log_end_offset
        if new_high_watermark <= log.high_watermark:
            return False
        log.high_watermark = new_high_watermark
        waiting = self.waiting_appends
        while waiting and waiting[0].required_offset <= new_high_watermark:
            waiting.popleft().reach_high_watermark()
        self.wake_commit_watchers()
        return True

    def low_watermark_of(self, is_alive: Callable[[int], bool]) -> int:
        """The smallest log start offset of the replicas whose brokers are alive."""
        assert self.log is not None
        start_offsets = [f.log_start_offset for f in self.followers.values() if is_alive(f.broker_id)]
        return min([self.log.log_start_offset, *start_offsets])

    def log_advanced(self) -> None:
        """Batches were written to the file: they count for the high watermark, and followers can fetch them."""
        self.advance_high_watermark()
        self.wake_followers()

    def truncate_to(self, offset: int) -> None:
        """Truncate a follower's log to `offset`: remove the records that its leader does not have."""
        self._truncate(Log.truncate_to, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """The leader has no record of a follower's log any more: remove all and restart at `offset`."""
        self._truncate(Log.truncate_fully_and_start_at, offset)

    def truncate_corruption(self) -> None:
        """Truncate a corrupt log before its first corrupt batch; the replica must not be in the ISR."""
        assert self.log is not None
        assert self.log.corruption is not None
        self._truncate(Log.truncate_corruption, self.log.corruption.offset)

    def _truncate(self, truncate: Callable[[Log, int], object], offset: int) -> None:
        log = self.log
        assert log is not None
        before = dict(log.producers)
        truncate(log, offset)
        self.rejected.note_truncation(before, log.producers, self._clock.now_ms())

    def follow_leader(self, leader_high_watermark: int, leader_log_start_offset: int) -> None:
        """Apply the leader's high watermark and log start to a follower. The high watermark never decreases here."""
        log = self.log
        assert log is not None
        new_high_watermark = min(leader_high_watermark, log.log_end_offset)
        if new_high_watermark > log.high_watermark:
            log.high_watermark = new_high_watermark
            log.forget_replicated_transactions()
            self.wake_commit_watchers()
        if leader_log_start_offset > log.log_start_offset:
            log.delete_records_before(min(leader_log_start_offset, log.high_watermark))
            self.wake_commit_watchers()
