"""The partitions of a member: where each is read from, which are paused, and the automatic commits of their positions.

A new partition is read from its committed offset, else as `auto.offset.reset` says. Both are looked up by `poll`, after
the rebalance listener, which may `seek` instead. Each partition has its own lookup: one without a leader does not delay
the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer
from signalbox.client.failures import ClientFailure, NoCommittedOffset
from signalbox.client.group_consumer.committed_offsets import CommittedOffsets
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.rejections import RequestRejected, is_final
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

log = logging.getLogger("signalbox.client")

_RESET_TO = {"earliest": EARLIEST, "latest": LATEST}
_COMMIT_NOW_MS = 5_000


class AssignedPartitions:
    """Owned by one GroupConsumer. `changed` is called when `find_positions` has to be called again."""

    def __init__(
        self,
        client: ClusterClient,
        consumer: Consumer,
        offsets: CommittedOffsets,
        settings: GroupConsumerSettings,
        changed: Callable[[], None],
    ) -> None:
        self._client = client
        self._consumer = consumer
        self._offsets = offsets
        self._settings = settings
        self._unpositioned: set[TopicPartition] = set()
        self._paused_early: set[TopicPartition] = set()  # paused before they have a position
        self._committing: asyncio.Task[None] | None = None
        self._commit_at: float | None = None
        self._positioning: dict[asyncio.Task[None], frozenset[TopicPartition]] = {}
        self._failure: ClientFailure | None = None
        self._logged_as_unknown: set[str] = set()
        self._changed = changed
        self.assigned: frozenset[TopicPartition] = frozenset()

    def add(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions of this member from now on; `find_positions` begins to read them."""
        self.assigned |= partitions
        self._unpositioned |= partitions

    def drop(self, partitions: frozenset[TopicPartition]) -> None:
        """Partitions that this member no longer has; records that are already fetched are dropped."""
        for task, looked_up in self._positioning.items():
            if partitions & looked_up & self._unpositioned:
                task.cancel()  # the offsets that it reads may be old if a partition is assigned again
        self.assigned -= partitions
        self._unpositioned -= partitions
        self._paused_early -= partitions
        self._consumer.remove(partitions)
        if not self.assigned:
            self._failure = None

    def find_positions(self) -> None:
        """Begin to read new partitions, in the background. NoCommittedOffset or RequestRejected: why that failed."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        partitions = self._unpositioned.difference(*self._positioning.values())
        if partitions:
            task = asyncio.get_running_loop().create_task(self._find_positions(partitions), name="group positions")
            self._positioning[task] = frozenset(partitions)
            task.add_done_callback(self._positioned)

    def _positioned(self, task: asyncio.Task[None]) -> None:
        del self._positioning[task]
        self._changed()

    async def _find_positions(self, partitions: Iterable[TopicPartition]) -> None:
        deadline = self._client.deadline()
        try:
            committed = await self._offsets.committed(partitions, deadline)
        except ClientFailure as lost:
            failures = [lost]
        else:
            lookups = [self._find_position(partition, committed.get(partition)) for partition in partitions]
            failures = [failure for failure in await asyncio.gather(*lookups) if failure is not None]
        for failure in failures:
            if is_final(failure):
                self._failure = failure
                return
        if failures:
            log.info("Positions of group %s are looked up again: %s", self._settings.group_id, failures[0])
            await self._client.pause(1, deadline)

    async def _find_position(
        self, partition: TopicPartition, committed: CommittedOffset | None
    ) -> ClientFailure | None:
        """Begin to read one partition; the failure if that is not possible now."""
        try:
            offset = committed.offset if committed is not None else self._reset_of(partition)
            position = await self._consumer.offset_at(partition, offset)
        except ClientFailure as failure:
            return failure if partition in self._unpositioned else None
        if partition in self._unpositioned:  # else revoked meanwhile, or the application has called `seek`
            await self._begin(partition, position)
        return None

    def _reset_of(self, partition: TopicPartition) -> int:
        reset = self._settings.fetch.auto_offset_reset
        if reset not in _RESET_TO:
            raise NoCommittedOffset(f"partition {partition} has no committed offset, and auto.offset.reset is {reset}")
        return _RESET_TO[reset]

    async def _begin(self, partition: TopicPartition, position: int) -> None:
        await self._consumer.add({partition: position})
        self._unpositioned.discard(partition)
        if partition in self._paused_early:
            self._paused_early.discard(partition)
            self._consumer.pause([partition])

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """ValueError when the partition is not assigned."""
        self._check([partition])
        position = await self._consumer.offset_at(partition, offset)
        if partition in self._unpositioned:
            await self._begin(partition, position)
        elif partition in self.assigned:  # else revoked meanwhile
            await self._consumer.seek(partition, position)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        chosen = self._check(partitions)
        self._paused_early |= chosen & self._unpositioned
        self._consumer.pause(chosen - self._unpositioned)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        chosen = self._check(partitions)
        self._paused_early -= chosen
        self._consumer.resume(chosen - self._unpositioned)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return self._consumer.paused | self._paused_early

    def _check(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        chosen = set(partitions)
        unknown = chosen - self.assigned
        if unknown:
            raise ValueError(f"partition {min(unknown)} is not assigned")
        return chosen

    # -- automatic commits

    def commit_if_due(self) -> None:
        """Begin a commit when `auto.commit.interval.ms` has passed. `poll` calls it: what it returned before has been
        processed."""
        now = asyncio.get_running_loop().time()
        interval_s = self._settings.auto_commit_interval_ms / 1000
        if self._commit_at is None:
            self._commit_at = now + interval_s
        if not self._settings.enable_auto_commit or self._committing is not None or now < self._commit_at:
            return
        self._commit_at = now + interval_s
        positions = self._consumer.positions()
        if positions:
            deadline = self._client.deadline(self._settings.auto_commit_interval_ms)
            self._committing = asyncio.get_running_loop().create_task(self._commit(positions, deadline))
            self._committing.add_done_callback(self._committed)

    def _committed(self, task: asyncio.Task[None]) -> None:
        if self._committing is task:
            self._committing = None

    async def commit_now(self, deadline: float | None = None) -> None:
        """Commit the positions, if commits are automatic: before a rebalance and at the end. A failure costs only that
        records are read again."""
        await self._stop(self._committing)  # a retry of it must not replace newer offsets
        positions = self._consumer.positions()
        if self._settings.enable_auto_commit and positions:
            last = self._client.deadline(_COMMIT_NOW_MS)
            await self._commit(positions, last if deadline is None else min(deadline, last))

    async def _commit(self, positions: dict[TopicPartition, int], deadline: float) -> None:
        unknown = self._unknown_topics()
        self._logged_as_unknown &= unknown
        # These may be deleted, and then retries would delay a rebalance or the end; or one broker has old metadata, and
        # without a commit the next owner would read their records again.
        maybe_deleted = {partition for partition in positions if partition.topic in unknown}
        try:
            await self._offsets.commit(positions, deadline, maybe_deleted)
        except ClientFailure as failure:
            self._log_failed_commit(failure, {partition.topic for partition in positions} & self._unknown_topics())

    def _unknown_topics(self) -> set[str]:
        topics = self._client.view.topics
        return {name for name, row in topics.items() if row.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION}

    def _log_failed_commit(self, failure: ClientFailure, unknown: set[str]) -> None:
        """A warning; of a topic that was deleted one, until it exists again: each commit fails for it."""
        is_unknown = isinstance(failure, RequestRejected) and failure.error == Error.UNKNOWN_TOPIC_OR_PARTITION
        if is_unknown and unknown and unknown <= self._logged_as_unknown:
            return
        if is_unknown:
            self._logged_as_unknown |= unknown
        log.warning("Automatic offset commit of group %s failed: %s", self._settings.group_id, failure)

    async def close(self) -> None:
        """End what is under way."""
        await self._stop(self._committing)
        for task in tuple(self._positioning):
            await self._stop(task)

    @staticmethod
    async def _stop(task: asyncio.Task[None] | None) -> None:
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
