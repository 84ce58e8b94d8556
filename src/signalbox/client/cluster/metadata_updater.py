"""Executes the actions of the rebootstrap state machine: one task that keeps the view of the cluster up to date.

Only this task requests Metadata, from the bootstrap servers while bootstrapping, else from the least loaded usable
node, so there is one rebootstrap at a time by construction. Other code reports rejected routes and failures and waits
for the view to change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from math import inf

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster.bootstrap import Seeds
from signalbox.client.cluster.connection_pool import ConnectionPool
from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.client.cluster.quarantine import Quarantine
from signalbox.client.cluster.quarantine_probes import QuarantineProbes
from signalbox.client.cluster.rebootstrap import ClusterIdPolicy, Rebootstrap
from signalbox.client.cluster.rebootstrap_table import Action, Phase
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Node, Purpose
from signalbox.client.failures import ChannelClosed, ClientFailure, ConnectFailed, Misrouted
from signalbox.common.backoff import Backoff
from signalbox.protocol.messages.metadata import MetadataRequest

log = logging.getLogger("signalbox.client")

_METADATA_TIMEOUT_MS = 3_000  # then another node is tried: a paused broker must not block the view


class MetadataUpdater:
    """The view, the connections and the state machine of one client."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.view = MetadataView()
        self.quarantine = Quarantine()
        self.rebootstrap = Rebootstrap(settings.recovery, ClusterIdPolicy(settings.cluster_id_policy), self.quarantine)
        connections = settings.connections()
        self.pool = ConnectionPool(
            connections,
            self.rebootstrap.identity_of,
            settings.reconnect_backoff_ms,
            settings.reconnect_backoff_max_ms,
        )
        self.seeds = Seeds(settings.bootstrap, connections)
        self.topics: set[str] = set()
        self.has_all_topics = False  # the view has every topic of the cluster, because `request_all_topics` was called
        self._wants_all_topics = False
        self.last_failure: ClientFailure | None = None
        self.final_failure: ClientFailure | None = None  # of the last round over the bootstrap servers
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._watchers: set[Callable[[], None]] = set()
        self._refresh_at = 0.0
        self._refreshed_at = -inf  # when Metadata was applied last
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)  # ms
        self._round_robin = 0
        self._probes = QuarantineProbes(self.rebootstrap, connections, self.pool.keep, self._probed)
        self._task = self._loop.create_task(self._run(), name="metadata updater")
        self._task.add_done_callback(_report_death)

    # -- called by the client

    def now_ms(self) -> float:
        return self._loop.time() * 1000

    async def view_changed(self, deadline: float) -> bool:
        """Wait until the view changes; False at `deadline` (loop time)."""
        changed = self._changed
        try:
            async with asyncio.timeout_at(deadline):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    @contextmanager
    def watching(self, watcher: Callable[[], None]) -> Iterator[None]:
        """Inside this context `watcher` is called when the view has changed."""
        self._watchers.add(watcher)
        try:
            yield
        finally:
            self._watchers.discard(watcher)

    def refresh_soon(self, topics: Iterable[str] = ()) -> None:
        """Request Metadata as soon as the retry backoff allows; `topics` are requested from now on. After a response
        the next request begins a backoff later too: a partition without a leader must not cause one per round trip."""
        fresh = set(topics) - self.topics
        self.topics |= fresh
        now = self._loop.time()
        soon = max(now + self._backoff.last / 1000, self._refreshed_at + self.settings.retry_backoff_ms / 1000)
        self._refresh_at = min(self._refresh_at, now if fresh else soon)
        self._wake.set()

    def request_all_topics(self) -> None:
        """Request every topic of the cluster from now on; `has_all_topics` when the view has them."""
        if not self._wants_all_topics:
            self._wants_all_topics = True
            self._refresh_at = self._loop.time()
            self._wake.set()

    def request_named_topics(self) -> None:
        """Request only `topics` from now on, the default."""
        self._wants_all_topics = self.has_all_topics = False

    def is_usable(self, node: Node) -> bool:
        """Whether `node` may get requests now. Not while it is quarantined or in its reconnect backoff."""
        if self.quarantine.holds((node.node_id, node.address)):
            return False
        return not self.pool.backing_off(node.node_id, self._loop.time())

    def least_loaded_node(self, exclude: Iterable[int] = ()) -> Node | None:
        """The usable node with the fewest requests in flight, connected ones first; None when there is none."""
        left_out = set(exclude)
        usable = [node for node in self.view.nodes.values() if node.node_id not in left_out and self.is_usable(node)]
        if not usable:
            return None
        self._round_robin += 1
        first = self._round_robin % len(usable)
        return min(usable[first:] + usable[:first], key=lambda node: self.pool.load(node.node_id))

    # -- reported by the client

    def note_misroute(self, node: Node, generation: int) -> None:
        """A connection to `node`, begun in `generation`, was rejected with 129."""
        self._execute(self.rebootstrap.route_rejected((node.node_id, node.address), generation, self.now_ms()), node)

    def note_failure(self, failure: ClientFailure) -> None:
        """A connection failed or was lost: the view may be out of date."""
        self.last_failure = failure
        self.refresh_soon()
        nodes = self.view.nodes.values()
        if nodes and not any(self.is_usable(node) for node in nodes):
            self._execute(self.rebootstrap.no_usable_node(self.now_ms()))

    def note_verified(self, node: Node) -> None:
        """A connection to `node` confirmed its identity."""
        self.rebootstrap.route_verified((node.node_id, node.address))

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._probes.close()
        self.final_failure = ChannelClosed("the client is closed")
        self._notify()  # calls that wait for the view end now
        await self.pool.close("the client is closed")

    # -- the updater's own task

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            self._execute(self.rebootstrap.tick(self.now_ms()))
            if self.rebootstrap.phase is Phase.BOOTSTRAP:
                await self._bootstrap()
            elif self.rebootstrap.phase is Phase.PAUSED:
                await self._sleep_until(self.rebootstrap.wake_at_ms())
            else:
                await self._maintain()

    async def _maintain(self) -> None:
        """The cluster is known: probe quarantined nodes, refresh old metadata, sleep."""
        now_ms = self.now_ms()
        self._probes.start_due_probes(now_ms)
        if self.quarantine.take_seed_refresh(now_ms):
            await self._bootstrap()
        elif self._loop.time() >= self._refresh_at:
            await self._refresh()
        else:
            waits = (self.rebootstrap.wake_at_ms(), self.quarantine.next_event_ms(), self._refresh_at * 1000)
            await self._sleep_until(min(wait for wait in waits if wait is not None))

    async def _sleep_until(self, at_ms: float | None) -> None:
        try:
            at = None if at_ms is None else max(at_ms / 1000, self._loop.time() + 0.001)
            async with asyncio.timeout_at(at):
                await self._wake.wait()
        except TimeoutError:
            return

    def _request(self) -> MetadataRequest:
        named = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(self.topics)]
        return MetadataRequest(
            topics=None if self._wants_all_topics else named,
            allow_auto_topic_creation=self.settings.allow_auto_create_topics,
        )

    async def _bootstrap(self) -> None:
        """One round over the bootstrap servers; while the cluster is known, only to find better addresses in it."""
        generation = self.rebootstrap.generation
        only_looking = self.rebootstrap.phase is not Phase.BOOTSTRAP
        request = self._request()
        async with aclosing(self.seeds.ask(request, _METADATA_TIMEOUT_MS)) as answers:
            async for _, response in answers:
                if generation != self.rebootstrap.generation:
                    return
                if only_looking and response.cluster_id != self.rebootstrap.cluster_id:
                    continue
                if self._handle_metadata(generation, request, response) is Action.ADOPT:
                    return
        if not only_looking:
            self.last_failure = self.seeds.last_failure
            self.final_failure = self.seeds.final_failure
            if self.final_failure is not None:
                self._notify()
            self._execute(self.rebootstrap.seeds_exhausted(generation, self.now_ms()))

    async def _refresh(self) -> None:
        """Metadata from one node. A failed request is retried after a backoff, at another node."""
        generation = self.rebootstrap.generation
        node = self.least_loaded_node()
        if node is None:
            self._retry_later()
            self._execute(self.rebootstrap.no_usable_node(self.now_ms()))
            return
        request = self._request()
        try:
            connection = await self._connection_to(node)
            response = await connection.request(request, timeout_ms=_METADATA_TIMEOUT_MS)
        except Misrouted:
            self.note_misroute(node, generation)
            self._retry_later()
        except ClientFailure as failure:
            self.last_failure = failure
            self._retry_later()
            self._execute(self.rebootstrap.metadata_failed(generation, self.now_ms()))
        else:
            if self._handle_metadata(generation, request, response) is not Action.ADOPT:
                self._retry_later()

    async def _connection_to(self, node: Node) -> ClientConnection:
        """A connection to `node`. An attempt that takes longer goes on, but the view does not wait for it."""
        try:
            async with asyncio.timeout(_METADATA_TIMEOUT_MS / 1000):
                return await self.pool.get(node, Purpose.METADATA)
        except TimeoutError:
            text = f"no connection within {_METADATA_TIMEOUT_MS} ms"
            raise ConnectFailed(node.address, "api-versions", text) from None

    def _handle_metadata(self, generation: int, request: MetadataRequest, response: object) -> Action:
        """Pass a Metadata response to the state machine and execute its action."""
        cluster_id, brokers = response.cluster_id, response.brokers  # type: ignore[attr-defined]
        error_code = response.error_code  # type: ignore[attr-defined]
        before = self.view.cluster_id
        action = self.rebootstrap.metadata_received(generation, cluster_id, len(brokers), error_code, self.now_ms())
        if action is Action.ADOPT:
            self.view.adopt(response)
            if request.topics is None:
                names = {topic.name for topic in response.topics}  # type: ignore[attr-defined]
                self.view.retain(names, self.topics)
            self.has_all_topics = self._wants_all_topics and request.topics is None
            if before != cluster_id:
                log.info("Cluster metadata updated (cluster id=%s, brokers=%d)", cluster_id, len(brokers))
            self.quarantine.retain({(node.node_id, node.address) for node in self.view.nodes.values()})
            self.final_failure = None
            self._backoff.reset()
            self._refreshed_at = self._loop.time()
            is_due = self._wants_more_than(request)  # asked for while this request was in flight
            self._refresh_at = self._loop.time() + (0 if is_due else self.settings.metadata_max_age_ms / 1000)
            self._notify()
        else:
            self._execute(action)
        return action

    def _wants_more_than(self, request: MetadataRequest) -> bool:
        if request.topics is None:
            return False
        return self._wants_all_topics or not self.topics <= {topic.name for topic in request.topics}

    def _retry_later(self) -> None:
        self._refresh_at = self._loop.time() + self._backoff.grow() / 1000

    def _probed(self, verified: bool) -> None:
        """A probe has ended. Waiting calls check again when a route was verified; the updater checks in any case."""
        if verified:
            self._notify()
        self._wake.set()

    def _execute(self, action: Action, node: Node | None = None) -> None:
        if action is Action.START_OVER:
            log.warning("Rebootstrapping from the bootstrap servers: %s", self.last_failure or "no usable node")
            self.pool.drop_all("starting over from the bootstrap servers")
            self.view.forget()
            self.has_all_topics = False
            self._notify()
        elif action is Action.QUARANTINE and node is not None:
            log.error(
                "Node %d quarantined: its address %s leads to another node; other nodes are used",
                node.node_id,
                node.address,
            )
            self.pool.drop_node(node.node_id, "its address leads to another node")
            self._notify()
        if action is not Action.IGNORE:
            self._wake.set()

    def _notify(self) -> None:
        """Wake all calls that wait for the view."""
        self._changed.set()
        self._changed = asyncio.Event()
        for watcher in tuple(self._watchers):
            watcher()


def _report_death(task: asyncio.Task[None]) -> None:
    """Log an unexpected end of the updater's task: without it calls would only reach their deadlines."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("Metadata updater failed unexpectedly", exc_info=task.exception())
