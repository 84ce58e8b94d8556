"""The entry point of the package, for the broker's handlers and the coordinator.

Calls are made on the event loop's thread and never block; operations that must wait return a `Promise`. Fetch handlers
call `fetches` and `session_fetches`. The components:

    produce         append, pending_append, unpacking     state      partition, follower_state, isr_state
    fetch           fetch, delayed_fetch, fetch_read      ISR        isr_decisions, isr
    fetch sessions  fetch_session, session_cache          roles      leadership, role_changes
                    session_fetches                       following  fetchers, fetcher, followed
    waiting         purgatory
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Mapping, Sequence

from signalbox.common.cooperative_task import yielding
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.delete_records import delete_records
from signalbox.replication.fetch.fetch import Authorize, Fetches, FetchLimits, FileReads
from signalbox.replication.fetch.session_cache import SessionCache
from signalbox.replication.fetch.session_fetches import SessionFetches
from signalbox.replication.follower.corrupt_logs import CorruptLogs
from signalbox.replication.follower.fetcher import FollowerIdentity
from signalbox.replication.follower.fetchers import Fetchers
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.follower_progress import FollowerProgress
from signalbox.replication.isr.isr import IsrChanges
from signalbox.replication.isr.isr_decisions import propose_shrink
from signalbox.replication.leadership import Leadership
from signalbox.replication.list_offsets import list_offsets
from signalbox.replication.offsets_for_leader_epoch import offsets_for_leader_epoch
from signalbox.replication.partition import Partition
from signalbox.replication.produce.append import NO_GUARD_BY_PARTITION, Appends, Batch, ProduceResult
from signalbox.replication.produce.unpacking import UnpackingQueue
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.replication.role_changes import RoleChanges
from signalbox.replication.throttle import Throttles
from signalbox.storage.log_manager import LogManager
from signalbox.storage.producers.transaction_verification import VerificationGuard

_log = logging.getLogger(__name__)


class ReplicaManager:
    """All replicas of one broker."""

    def __init__(
        self,
        logs: LogManager,
        dependencies: Dependencies,
        scheduler: Scheduler,
        config: ReplicationConfig | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config or ReplicationConfig()
        self.scheduler = scheduler
        self.logs = logs
        self.hosted = HostedPartitions(dependencies.cluster)
        self.sessions = SessionCache(self.config.fetch_session_slots, scheduler.clock, rng or random.Random())
        self._dependencies = dependencies
        self.isr_changes = IsrChanges(
            dependencies.broker_id, dependencies.broker_epoch, dependencies.alter_partition, scheduler.deadlines
        )
        self.throttles = Throttles.of(dependencies.broker_id, scheduler.clock.monotonic, logs.moves.throttle)
        identity = FollowerIdentity(
            dependencies.broker_id, dependencies.broker_epoch, self.on_log_failure, self.throttles.follower
        )
        self.fetchers = Fetchers(dependencies.leaders, identity, self.config, scheduler.deadlines)
        progress = FollowerProgress(dependencies.cluster, self.isr_changes, scheduler)
        self.corrupt_logs = CorruptLogs(self.hosted, self.isr_changes, scheduler.at_iteration_end)
        components = (self.fetchers, progress, self.isr_changes, self.corrupt_logs)
        self._roles = RoleChanges(self.hosted, logs, dependencies, scheduler, components)
        self._leadership = Leadership(dependencies.broker_id, self._roles)
        self._unpacking_queue = UnpackingQueue(scheduler.threads, scheduler.run_long)
        self._appends = Appends(self.hosted, scheduler, self._unpacking_queue, logs)
        self.fetches = Fetches(
            self.hosted,
            self.sessions,
            scheduler.purgatory,
            progress,
            FetchLimits(self.config.fetch_max_bytes, self.throttles.leader),
            FileReads(scheduler.page_reads, scheduler.run_long),
        )
        self.session_fetches = SessionFetches(
            self.hosted, self.sessions, self.config.fetch_max_bytes, scheduler.page_reads.is_resident
        )
        self._started = False
        self._shrink_due = math.inf  # if a check runs later than this, the process was paused
        self.append_to = self._appends.append_to
        self.produce_result = self._appends.produce_result

    # -- start and stop

    def start(self) -> None:
        """Start the periodic work: ISR shrinking and high watermark checkpoints."""
        if not self._started:
            self._started = True
            self.scheduler.every(self.config.lag_time_max_ms / 2, self.shrink_isrs)
            self.scheduler.every(self.config.high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks)

    def close(self) -> None:
        """Stop fetchers and deadlines; after this, the owner of the log manager closes it."""
        self._leadership.close()
        self.fetchers.close()
        self.isr_changes.close()
        self._unpacking_queue.close()
        self._appends.flush()
        self.scheduler.deadlines.close()
        self.checkpoint_high_watermarks()

    def shrink_isrs(self) -> None:
        """Propose ISRs without the lagging followers. After a pause of this process one check is skipped: the
        followers' fetches are still in the socket buffers. Yields."""
        now, due = self.scheduler.clock.monotonic(), self._shrink_due
        self._shrink_due = now + self.config.lag_time_max_ms / 1000
        if now > due:
            return
        clock, max_lag_ms = self.scheduler.clock, self.config.lag_time_max_ms
        for partition in yielding(list(self.hosted)):
            self.isr_changes.submit(partition, propose_shrink(partition, clock.now_ms(), max_lag_ms))
        self.isr_changes.dispatch()
        self.corrupt_logs.retry()

    def checkpoint_high_watermarks(self) -> None:
        """Write the high watermarks of all partitions to disk."""
        try:
            self.logs.checkpoint_high_watermarks()
        except KafkaError as error:
            _log.error("High watermarks could not be saved: %s", error)
            self.on_log_failure()

    def on_log_failure(self) -> None:
        """A log directory has gone offline: take its partitions offline at the end of the loop iteration, because this
        may be called in the middle of an append."""
        self.scheduler.at_iteration_end(self._roles.take_failed_logs_offline)

    # -- control

    @property
    def controller_epoch(self) -> int:
        """The highest controller epoch of any request; shared with UpdateMetadata."""
        return self._leadership.controller_epoch

    @controller_epoch.setter
    def controller_epoch(self, epoch: int) -> None:
        self._leadership.controller_epoch = max(epoch, self._leadership.controller_epoch)

    def become_leader_or_follower(self, request: LeaderAndIsrRequest, version: int = 7) -> LeaderAndIsrResponse:
        """LeaderAndIsr. The caller has checked the broker epoch. Yields."""
        return self._leadership.become_leader_or_follower(request, version)

    def stop_replica(self, request: StopReplicaRequest, version: int = 4) -> StopReplicaResponse:
        """StopReplica. The caller has checked the broker epoch. Yields."""
        return self._leadership.stop_replica(request, version)

    def update_topic_config(self, topic: str) -> None:
        """Apply changed configs of the topic."""
        for partition in self.hosted:
            if partition.topic_partition.topic == topic:
                self._apply_configs(partition)

    def update_topic_defaults(self) -> None:
        """Apply changed broker defaults of topic configs to all partitions, by a cooperative task."""

        def apply() -> None:
            for partition in yielding(list(self.hosted)):
                self._apply_configs(partition)

        self.scheduler.run_long(apply)

    def _apply_configs(self, partition: Partition) -> None:
        configs, topic = self._dependencies.configs, partition.topic_partition.topic
        partition.apply_settings(configs.settings(topic))
        if partition.log is not None:
            partition.log.update_config(configs.log_config(topic))

    # -- data

    def append(
        self,
        entries: Sequence[tuple[tuple[str, int], Batch]],
        acks: int,
        timeout_ms: int,
        *,
        from_client: bool = True,
        guard_by_partition: Mapping[tuple[str, int], VerificationGuard] = NO_GUARD_BY_PARTITION,
    ) -> ProduceResult:
        """Produce: one batch per (topic, partition); one pending append per entry, in their order, finished as `acks`
        requires. `from_client` False: a coordinator of this broker, which may write internal topics and control
        records. `guard_by_partition`: of transactional batches, by partition (`start_verification`)."""
        now_ms = self.scheduler.clock.now_ms()
        return self._appends.append(
            entries, acks, timeout_ms, now_ms, from_client=from_client, guard_by_partition=guard_by_partition
        )

    def append_markers(self, markers: Sequence[tuple[tuple[str, int], bytes, int]], timeout_ms: int) -> ProduceResult:
        """WriteTxnMarkers: one control batch, with its transaction version, per (topic, partition). One pending append
        per marker, finished when all in-sync replicas have it. Yields."""
        appends = [self._appends.append_marker(*key, batch, version) for key, batch, version in yielding(markers)]
        return self._appends.produce_result(appends, timeout_ms)

    def list_offsets(
        self, request: ListOffsetsRequest, version: int, authorize: Authorize | None = None
    ) -> Promise[ListOffsetsResponse]:
        """ListOffsets. Yields."""
        return self._unpacking_queue.run(list_offsets(self.hosted, request, version, authorize))

    def offsets_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest, authorize: Authorize | None = None
    ) -> OffsetForLeaderEpochResponse:
        """Yields."""
        return offsets_for_leader_epoch(self.hosted, request, authorize)

    def delete_records(
        self, request: DeleteRecordsRequest, authorize: Authorize | None = None
    ) -> Promise[DeleteRecordsResponse]:
        return delete_records(self.hosted, self._dependencies.cluster, self.scheduler.purgatory, request, authorize)

    # -- queries

    def partition(self, topic: str, index: int) -> Partition | None:
        """A hosted partition; its `stamp` and `leader_epoch` show whether cached state of it is still valid."""
        return self.hosted.get(topic, index)

    def leader_epoch(self, topic: str, index: int) -> int:
        """The leader epoch of a hosted partition from the last LeaderAndIsr; -1 if there was none."""
        partition = self.hosted.get(topic, index)
        return -1 if partition is None else partition.leader_epoch

    def current_leader(self, topic: str, index: int) -> tuple[int, int]:
        """(leader id, leader epoch), each -1 if unknown: the CurrentLeader of errors (KIP-951)."""
        return self.hosted.current_leader(topic, index)
