"""The consumer that is a member of a consumer group: `subscribe`, `poll`, `commit`, `close`.

Everything that the application notices happens inside `poll` and `close`: rebalances begin and end there, and so the
listener's methods are called there. Between two polls only heartbeats, fetches and an automatic commit are under way.
While a rebalance waits for other members, `poll` returns records of the partitions that this member keeps: with
`cooperative-sticky` all but those that move, else none.

A JoinGroup that waits must not delay another group's heartbeats: one ClusterClient per GroupConsumer.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.client_metrics import Metrics
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer
from signalbox.client.failures import ClientFailure
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.assigned_partitions import AssignedPartitions
from signalbox.client.group_consumer.committed_offsets import CommittedOffsets
from signalbox.client.group_consumer.group_member import GroupMember
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings, RebalanceListener
from signalbox.client.group_consumer.heartbeats import Heartbeats
from signalbox.client.group_consumer.membership import NO_MEMBER_ID
from signalbox.client.group_consumer.rebalance import Rebalance
from signalbox.client.group_consumer.subscription import Subscription
from signalbox.common.ids import TopicPartition

log = logging.getLogger("signalbox.client")

_FIRST_ID_MS = 3_000
_LEAVE_MS = 1_000  # for LeaveGroup, when the listener has used up the time
_WAIT_SLICE_MS = 500  # how long `poll` waits before it looks for changed topics again


class GroupConsumer(GroupMember):
    """`async with GroupConsumer.of("host:9092", "group") as consumer:`; or `GroupConsumer(client, settings)` with a
    client that is started, and is not closed here. For one task at a time."""

    def __init__(self, client: ClusterClient, settings: GroupConsumerSettings, *, owns_client: bool = False) -> None:
        super().__init__(settings)
        self._client = client
        self._owns_client = owns_client
        self._requests = GroupRequests(client, settings, self._membership)
        self._consumer = Consumer(client, settings.fetch)
        self._offsets = CommittedOffsets(client, self._requests, self._membership)
        self._changed = asyncio.Event()
        self._partitions = AssignedPartitions(client, self._consumer, self._offsets, settings, self._changed.set)
        self._rebalance = Rebalance(client, self._requests, self._membership, settings)
        self._heartbeats: Heartbeats | None = None
        self._subscription = Subscription(client)
        self._joining: asyncio.Task[frozenset[TopicPartition] | None] | None = None
        self._joining_topics: frozenset[str] = frozenset()
        self._reason: str | None = None
        self._steps: deque[Callable[[], Awaitable[None]]] = deque()
        self._in_use = False
        self._closed = self._ended = False
        self._releasing: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, bootstrap_servers: str, group_id: str, **fields: Any) -> GroupConsumer:
        """A consumer with a client of its own; `fields` are fields of GroupConsumerSettings."""
        client = ClusterClient(ClientSettings.of(bootstrap_servers))
        return cls(client, GroupConsumerSettings(group_id=group_id, **fields), owns_client=True)

    async def __aenter__(self) -> GroupConsumer:
        if self._owns_client:
            self._client.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Consume these topics, or all that a compiled pattern matches, in place of those before. The next `poll` joins
        the group. RuntimeError after `close`, as of every method that changes positions or asks for them."""
        self._check_open()
        self._subscription.set(topics, listener)
        self._needs_join("the subscription changed")

    async def unsubscribe(self, *, timeout_ms: float = 30_000) -> None:
        """Consume no topics: as `close`, but the consumer may subscribe again. RuntimeError during another `poll`."""
        with self._exclusive("unsubscribe"):
            try:
                await self._end_membership("the consumer unsubscribed from all topics", timeout_ms)
            finally:
                self._partitions.drop(self.assignment)
                self._steps.clear()
                self._membership.unsubscribed()
                self._subscription.clear()

    def _needs_join(self, reason: str) -> None:
        self._membership.needs_join = True
        self._reason = reason

    def _check_open(self) -> None:
        if self._ended:  # the listener may commit while `close` is under way
            raise RuntimeError("the consumer is closed")

    @contextmanager
    def _exclusive(self, method: str) -> Iterator[None]:
        """Only one task at a time may be inside, as in the Java client."""
        if self._closed:
            raise RuntimeError("the consumer is closed")
        if self._in_use:
            raise RuntimeError(f"{method} was called while another call is under way: a consumer is for one task")
        self._in_use = True
        try:
            yield
        finally:
            self._in_use = False

    def metrics(self) -> Metrics:
        """Kafka's metrics of this consumer and its membership, by name."""
        return {**self._consumer.metrics(), **self._requests.metrics.as_metrics()}

    @property
    def subscription(self) -> frozenset[str]:
        """The topics, with a pattern those that it matches."""
        return self._subscription.topics

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions of this member."""
        return self._partitions.assigned

    async def poll(self, timeout_ms: float = 1_000, max_records: int = 500) -> list[ConsumedRecord]:
        """The next records, at most `max_records`; empty when none arrived in time.

        A RequestRejected: authorization of group or topic, MemberFenced, CORRUPT_MESSAGE; NoCommittedOffset;
        AuthenticationRejected. RuntimeError without a subscription, after `close`, and while another task polls."""
        with self._exclusive("poll"):
            if self._subscription.is_empty:
                raise RuntimeError("the consumer is not subscribed to topics")
            heartbeats = self._started_heartbeats()
            heartbeats.polled()
            heartbeats.polling = True
            try:
                return await self._poll(heartbeats, self._client.deadline(timeout_ms), max_records)
            finally:
                heartbeats.polled()
                heartbeats.polling = False

    async def _poll(self, heartbeats: Heartbeats, deadline: float, max_records: int) -> list[ConsumedRecord]:
        while True:
            self._changed.clear()
            await self._advance(heartbeats, deadline)
            records = await self._next_records(deadline, max_records)
            if records or left_ms(deadline) <= 0:
                return records

    def _started_heartbeats(self) -> Heartbeats:
        if self._heartbeats is None:
            self._heartbeats = Heartbeats(self._requests, self._membership, self._settings, self._changed.set)
            self._heartbeats.start()
        return self._heartbeats

    async def _advance(self, heartbeats: Heartbeats, deadline: float) -> None:
        """Take what is due before records: failures, lost partitions, the end and the beginning of a rebalance."""
        heartbeats.raise_failure()
        self._subscription.check()
        if self._membership.lost:
            await self._lose()
        if self._joining is not None and self._joining.done():
            task, self._joining = self._joining, None
            await self._joined(task.result())
        await self._take_steps()
        must_join = self._joining is None and (self._topics_changed() or self._membership.needs_join)
        if must_join and await self._subscription.known(min(deadline, self._client.deadline(_WAIT_SLICE_MS))):
            await self._join()
        self._partitions.find_positions()
        self._partitions.commit_if_due()

    def _topics_changed(self) -> bool:
        if self._subscription.match():
            self._needs_join("the topics that match the subscription changed")
            return True
        if not self._rebalance.counts_changed():
            return False
        self._reason = "the number of partitions changed"
        return True

    async def _join(self) -> None:
        await self._prepare_join()
        topics = self._joining_topics = self._subscription.topics
        metrics = self._requests.metrics
        rebalance = metrics.timed(
            metrics.rebalance_ms, self._rebalance.run(topics, self._partitions.assigned, self._reason)
        )
        self._joining = asyncio.get_running_loop().create_task(rebalance, name="group rebalance")
        self._joining.add_done_callback(lambda _: self._changed.set())

    async def _prepare_join(self) -> None:
        """Before JoinGroup: commit, and give up what a rebalance takes away in any case."""
        revoked = self._partitions.assigned
        if self._settings.cooperative:
            revoked = frozenset(row for row in revoked if row.topic not in self._subscription.topics)
        await self._partitions.commit_now()
        if self._membership.lost:  # the commit was rejected
            await self._lose()
        elif revoked:
            await self._revoke(revoked)

    async def _joined(self, assigned: frozenset[TopicPartition] | None) -> None:
        """A rebalance is over. None: the membership was lost, `_advance` joins again; so it does if the membership was
        lost after the rebalance."""
        if assigned is None or not self._membership.is_member:
            self._requests.metrics.failed_rebalances += 1
            await self._lose()
            return
        self._reason = None
        if self._subscription.topics != self._joining_topics:  # subscribed to others meanwhile
            self._membership.needs_join = True
        owned = self._partitions.assigned
        revoked, added = owned - assigned, assigned - owned
        self._note_joined(len(assigned))
        if revoked:
            self._membership.needs_join = True  # so that the leader can give them to another member
            self._reason = "partitions were revoked"
            # The next owner must not read again what `poll` returned during the rebalance.
            self._steps += (self._partitions.commit_now, lambda: self._revoke(revoked))
        self._steps.append(lambda: self._assign(added))

    async def _take_steps(self) -> None:
        """The application's part of a rebalance, which neither an exception nor a cancellation may cut short. A step
        that raises is not repeated; the others are taken before `poll` raises, after a cancellation by the next one."""
        failures = []
        while self._steps and not self._membership.lost:
            step = self._steps.popleft()
            try:
                await step()
            except Exception as error:
                failures.append(error)
        if self._membership.lost:
            await self._lose()
        if failures:
            raise failures[0]

    async def _revoke(self, partitions: frozenset[TopicPartition]) -> None:
        try:
            await self._subscription.listener.on_revoked(partitions)
        finally:
            self._partitions.drop(partitions)

    async def _assign(self, partitions: frozenset[TopicPartition]) -> None:
        self._partitions.add(partitions)
        await self._subscription.listener.on_assigned(partitions)

    async def _lose(self) -> None:
        self._membership.lost = False
        self._steps.clear()
        lost = self._partitions.assigned
        if lost:
            self._partitions.drop(lost)
            await self._subscription.listener.on_lost(lost)

    async def _next_records(self, deadline: float, max_records: int) -> list[ConsumedRecord]:
        """Records, or an empty list when a rebalance or a lost membership needs `_advance`, or after a short time."""
        loop = asyncio.get_running_loop()
        timeout_ms = min(left_ms(deadline), _WAIT_SLICE_MS)
        waiting = loop.create_task(self._consumer.wait_for_records(timeout_ms))
        changed = loop.create_task(self._changed.wait())
        try:
            await asyncio.wait((waiting, changed), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                waiting.result()
        finally:
            for task in (waiting, changed):
                task.cancel()
            await asyncio.gather(waiting, changed, return_exceptions=True)
        return self._consumer.take(max_records)  # not in a task: a cancelled `poll` must not lose records

    def give_back(self, records: Iterable[ConsumedRecord]) -> None:
        """Return the records of the last `poll` once more: the application has not received them."""
        self._consumer.give_back(records)

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit the positions of all partitions, or these offsets: of the next record to read, not of the last one.

        CommitFailed when this member may have lost partitions; RequestRejected; DeadlinePassed."""
        self._check_open()
        chosen = self._consumer.positions() if offsets is None else offsets
        await self._offsets.commit(chosen, self._client.deadline(timeout_ms))

    async def committed(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """The committed offset of each partition that has one."""
        self._check_open()
        return await self._offsets.committed(partitions, self._client.deadline(timeout_ms))

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at `offset` (or EARLIEST, LATEST). ValueError when the partition is not assigned."""
        self._check_open()
        await self._partitions.seek(partition, offset)

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns; KeyError while it is unknown."""
        return self._consumer.position(partition)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these partitions until `resume`, or until they are assigned again."""
        self._partitions.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._partitions.resume(partitions)

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return self._partitions.paused

    async def close(self, *, timeout_ms: float = 30_000) -> None:
        """Commit, if commits are automatic, revoke the partitions, and leave the group. A static member does not leave:
        it has its partitions back if it joins again within its session timeout. Failures are logged; another exception
        of the listener is raised at the end, TimeoutError if it takes too long. A second call does nothing, but waits
        for the end of tasks and connections, which a cancelled call leaves to the background."""
        if self._closed:
            if self._releasing is not None:
                await asyncio.shield(self._releasing)
            return
        self._closed = True
        try:
            await self._end_membership("the consumer is closed", timeout_ms)
        finally:
            self._ended = True
            self._releasing = asyncio.get_running_loop().create_task(self._release(), name="end of group consumer")
            await asyncio.shield(self._releasing)

    async def _release(self) -> None:
        """End tasks and connections, in a task of its own: a cancelled `close` must not leave some of them."""
        await self._partitions.close()
        self._partitions.drop(self.assignment)
        if self._heartbeats is not None:
            await self._heartbeats.stop()
        await self._consumer.close()
        if self._owns_client:
            await self._client.close()

    async def _end_membership(self, reason: str, timeout_ms: float) -> None:
        """Commit, revoke and leave. Another exception than a ClientFailure is raised when all is done."""
        deadline = self._client.deadline(timeout_ms)
        failures = []
        await self._stop_joining(deadline)
        for step in (self._give_up, partial(self._leave, reason)):
            try:  # both: without LeaveGroup the others wait for the session timeout
                await step(deadline)
            except ClientFailure as failure:
                log.info("Member could not leave group %s: %s", self._settings.group_id, failure)
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    async def _give_up(self, deadline: float) -> None:
        if not self._membership.lost:
            await self._partitions.commit_now(deadline)
        async with asyncio.timeout_at(deadline):
            if self._membership.lost:
                await self._lose()
            elif self.assignment:
                await self._subscription.listener.on_revoked(self.assignment)

    async def _leave(self, reason: str, deadline: float) -> None:
        if self._membership.member_id != NO_MEMBER_ID and self._settings.group_instance_id is None:
            await self._requests.leave(reason, max(left_ms(deadline), _LEAVE_MS))

    async def _stop_joining(self, deadline: float) -> None:
        """End a rebalance that is under way. The coordinator gives a new member its id at once, and then expects it to
        join: without its id the member could not leave, and the others would wait for its session timeout."""
        joining, self._joining = self._joining, None
        if joining is None:
            return
        if self._settings.group_instance_id is None and self._membership.member_id == NO_MEMBER_ID:
            named = asyncio.get_running_loop().create_task(self._rebalance.has_member_id.wait())
            timeout_s = min(_FIRST_ID_MS, left_ms(deadline)) / 1000
            await asyncio.wait((joining, named), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            named.cancel()
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)
