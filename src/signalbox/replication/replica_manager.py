"""The door to this room: everything that the broker's handlers and the coordinator ask of replication.

Calls come on the loop's thread and never block; what must wait is a `Pending`. The parts behind the door:

    produce         append, append_ticket            leader and follower state   partition, follower_state, isr_state
    fetch           fetch, delayed_fetch, fetch_read ISR                         isr_decisions, isr
    fetch sessions  fetch_session                    roles                       leadership, role_changes
    waiting         purgatory, deadlines, pending    following                   fetchers, fetcher, followed
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.replication.append import Appends, Batch, ProduceOutcome
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.delete_records import delete_records
from signalbox.replication.fetch import Authorize, Fetches
from signalbox.replication.fetch_read import Isolation, read_hot
from signalbox.replication.fetcher import FollowerIdentity
from signalbox.replication.fetchers import Fetchers
from signalbox.replication.follower_progress import FollowerProgress
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.isr import IsrChanges
from signalbox.replication.isr_decisions import propose_shrink
from signalbox.replication.leadership import Leadership
from signalbox.replication.list_offsets import list_offsets
from signalbox.replication.offsets_for_leader_epoch import offsets_for_leader_epoch
from signalbox.replication.partition import Partition
from signalbox.replication.pending import Pending
from signalbox.replication.replica_parts import Engine, Neighbours
from signalbox.replication.role_changes import RoleChanges
from signalbox.replication.session_cache import SessionCache
from signalbox.replication.throttle import Throttles
from signalbox.storage.append_info import LogSlice
from signalbox.storage.log_manager import LogManager

_log = logging.getLogger(__name__)


class ReplicaManager:
    """All replicas of one broker."""

    def __init__(
        self,
        logs: LogManager,
        neighbours: Neighbours,
        engine: Engine,
        config: ReplicationConfig | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.config = config or ReplicationConfig()
        self.engine = engine
        self.logs = logs
        self.hosted = HostedPartitions(neighbours.cluster)
        self.sessions = SessionCache(self.config.fetch_session_slots, engine.clock, rng or random.Random())
        self._neighbours = neighbours
        self.isr_changes = IsrChanges(
            neighbours.broker_id, neighbours.broker_epoch, neighbours.alter_partition, engine.deadlines
        )
        self.throttles = Throttles.of(neighbours.broker_id, engine.clock.monotonic)
        identity = FollowerIdentity(
            neighbours.broker_id, neighbours.broker_epoch, self.logs_failed, self.throttles.follower
        )
        self.fetchers = Fetchers(neighbours.leaders, identity, self.config, engine.deadlines)
        progress = FollowerProgress(neighbours.cluster, self.isr_changes, engine)
        movers = (self.fetchers, progress, self.isr_changes)
        self._roles = RoleChanges(self.hosted, logs, neighbours, engine, movers)
        self._leadership = Leadership(neighbours.broker_id, self._roles)
        self._appends = Appends(self.hosted, engine.deadlines, engine.at_turn_end, logs.flush_appends)
        self._fetches = Fetches(
            self.hosted,
            self.sessions,
            engine.purgatory,
            progress,
            self.config.fetch_max_bytes,
            self.throttles.leader,
        )
        self._started = False
        self._shrink_due = math.inf  # a round that comes later than this comes after a pause
        self.append_to = self._appends.append_to
        self.outcome = self._appends.outcome

    # -- life

    def start(self) -> None:
        """Begin the periodic work: ISR shrinking and high watermark checkpoints."""
        if not self._started:
            self._started = True
            self.engine.every(self.config.lag_time_max_ms / 2, self.shrink_isrs)
            self.engine.every(self.config.high_watermark_checkpoint_interval_ms, self.checkpoint_high_watermarks)

    def close(self) -> None:
        """Stop fetching and waiting; the log manager is closed by its owner, after this."""
        self._leadership.close()
        self.fetchers.close()
        self.isr_changes.close()
        self._appends.flush()
        self.engine.deadlines.close()
        self.checkpoint_high_watermarks()

    def shrink_isrs(self) -> None:
        """Propose ISRs without the followers that lag. A broker that was paused itself gives them one more round: their
        fetches are still in its socket buffers."""
        now, due = self.engine.clock.monotonic(), self._shrink_due
        self._shrink_due = now + self.config.lag_time_max_ms / 1000
        if now > due:
            return
        clock, max_lag_ms, changes = self.engine.clock, self.config.lag_time_max_ms, self.isr_changes

        def look(partition: Partition) -> None:
            changes.submit(partition, propose_shrink(partition, clock.now_ms(), max_lag_ms))

        self.engine.in_slices(list(self.hosted), look, changes.dispatch)

    def checkpoint_high_watermarks(self) -> None:
        """Save how far every partition is committed."""
        try:
            self.logs.checkpoint_high_watermarks()
        except KafkaError as error:
            _log.error("high watermarks could not be saved: %s", error)
            self.logs_failed()

    def logs_failed(self) -> None:
        """A log directory has gone offline: so do its partitions, when the turn ends, since the news may come in the
        midst of an append."""
        self.engine.at_turn_end(self._roles.take_failed_logs_offline)

    # -- control

    @property
    def controller_epoch(self) -> int:
        """The highest controller epoch that has spoken; shared with UpdateMetadata."""
        return self._leadership.controller_epoch

    @controller_epoch.setter
    def controller_epoch(self, epoch: int) -> None:
        self._leadership.controller_epoch = max(epoch, self._leadership.controller_epoch)

    def become_leader_or_follower(self, request: LeaderAndIsrRequest, version: int = 7) -> LeaderAndIsrResponse:
        """LeaderAndIsr. Whether the broker epoch is right has been checked before."""
        return self._leadership.become_leader_or_follower(request, version)

    def stop_replica(self, request: StopReplicaRequest, version: int = 4) -> StopReplicaResponse:
        """StopReplica. Whether the broker epoch is right has been checked before."""
        return self._leadership.stop_replica(request, version)

    def update_topic_config(self, topic: str) -> None:
        """The topic's configs have changed."""
        for partition in self.hosted:
            if partition.topic_partition.topic == topic:
                self._take_configs(partition)

    def update_topic_defaults(self) -> None:
        """The broker's defaults of topic configs have changed: every topic may obey another value now."""
        self.engine.in_slices(list(self.hosted), self._take_configs, lambda: None)

    def _take_configs(self, partition: Partition) -> None:
        configs, topic = self._neighbours.configs, partition.topic_partition.topic
        partition.take_settings(configs.settings(topic))
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
    ) -> ProduceOutcome:
        """Produce: one batch per (topic, partition); a ticket per entry, in their order, when `acks` is fulfilled.
        `from_client` False: the broker's own coordinators, which may write internal topics and control records."""
        now_ms = self.engine.clock.now_ms()
        return self._appends.append(entries, acks, timeout_ms, now_ms, from_client=from_client)

    def fetch(self, request: FetchRequest, version: int, authorize: Authorize | None = None) -> Pending[FetchResponse]:
        """Fetch, for consumers and followers."""
        return self._fetches.fetch(request, version, authorize)

    def read_hot(
        self, partition: Partition, fetch_offset: int, max_bytes: int, isolation: Isolation
    ) -> LogSlice | None:
        """A consumer's read from one partition that is led here; None sends the caller down the generic path."""
        return read_hot(partition, fetch_offset, max_bytes, isolation)

    def list_offsets(
        self, request: ListOffsetsRequest, version: int, authorize: Authorize | None = None
    ) -> ListOffsetsResponse:
        return list_offsets(self.hosted, request, version, authorize)

    def offsets_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest, authorize: Authorize | None = None
    ) -> OffsetForLeaderEpochResponse:
        return offsets_for_leader_epoch(self.hosted, request, authorize)

    def delete_records(
        self, request: DeleteRecordsRequest, authorize: Authorize | None = None
    ) -> Pending[DeleteRecordsResponse]:
        return delete_records(self.hosted, self._neighbours.cluster, self.engine.purgatory, request, authorize)

    # -- questions

    def partition(self, topic: str, index: int) -> Partition | None:
        """A hosted partition; its `stamp` and `leader_epoch` tell whether what was remembered of it still holds."""
        return self.hosted.get(topic, index)

    def current_leader(self, topic: str, index: int) -> tuple[int, int]:
        """(leader id, leader epoch), -1 each when unknown: the CurrentLeader of errors (KIP-951)."""
        return self.hosted.current_leader(topic, index)
