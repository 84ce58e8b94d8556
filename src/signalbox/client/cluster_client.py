"""Base of admin, producer and consumer: sends requests to the right node of a cluster whose nodes may move.

`request` is one attempt at one node. `request_any` sends to the least loaded node and, within its deadline, to others:
there is no controller lookup (F13), brokers forward. A rejected route (129) alone does not fail `request_any`: other
nodes are tried, and at the deadline the error is DeadlinePassed.

Where `message` has the type `Any`, it is a protocol message, or a function that builds one from the connection, for the
few requests whose fields depend on the version (`connection.version_for`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.client.client_metrics import Metrics
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster.metadata_updater import MetadataUpdater
from signalbox.client.cluster.metadata_view import MetadataView, TopicView
from signalbox.client.cluster.view_wait import ViewWait
from signalbox.client.connection.node import Node, Purpose
from signalbox.client.failures import (
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    Misrouted,
    NoUsableNode,
)
from signalbox.client.route_probe.route_report import RouteReport, report_routes
from signalbox.common.backoff import backoff_after
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import has_not_controller_error

_GRACE_SECONDS = 0.05  # the connection's own timeout fires first when both are equal


class ClusterClient:
    """One client of one cluster. `async with ClusterClient(settings) as client:` or `start()` and `close()`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._metadata_updater: MetadataUpdater | None = None

    async def __aenter__(self) -> ClusterClient:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Begin to bootstrap; calls wait for it until their deadlines."""
        if self._metadata_updater is None:
            self._metadata_updater = MetadataUpdater(self.settings)

    async def close(self) -> None:
        if self._metadata_updater is not None:
            metadata_updater, self._metadata_updater = self._metadata_updater, None
            await metadata_updater.close()

    @property
    def metadata_updater(self) -> MetadataUpdater:
        """The client's metadata updater; RuntimeError before `start` and after `close`."""
        if self._metadata_updater is None:
            raise RuntimeError("the client is not started, or closed")
        return self._metadata_updater

    @property
    def view(self) -> MetadataView:
        return self.metadata_updater.view

    @property
    def rebootstraps(self) -> int:
        """How often this client rebootstrapped."""
        return self.metadata_updater.rebootstrap.starts_over

    def metrics(self) -> Metrics:
        """Kafka's metrics of the connections to nodes, and those of rebootstraps and quarantines, by name."""
        updater = self.metadata_updater
        held = [node for node in self.view.nodes.values() if updater.quarantine.holds((node.node_id, node.address))]
        return {**updater.pool.metrics(), "rebootstrap-total": self.rebootstraps, "quarantined-node-count": len(held)}

    def routes(self) -> list[RouteReport]:
        """Per known node: its address, whether it confirmed its identity, and how often it was rejected."""
        return report_routes(self.metadata_updater)

    def deadline(self, timeout_ms: float | None = None) -> float:
        """Loop time at which a call that begins now must end."""
        after = timeout_ms if timeout_ms is not None else self.settings.api_timeout_ms
        return asyncio.get_running_loop().time() + after / 1000

    async def request(
        self,
        node_id: int,
        message: Any,
        *,
        purpose: Purpose = Purpose.REQUESTS,
        timeout_ms: float | None = None,
        max_version: int | None = None,
        waits_on_broker: bool = False,
    ) -> Any:
        """One attempt at one node. ClientFailure when there is no response; its `retriable` says whether to retry.
        `waits_on_broker`: the response may take longer than `request.timeout.ms`, until `timeout_ms`."""
        metadata_updater = self.metadata_updater
        node = metadata_updater.view.nodes.get(node_id)
        if node is None:
            metadata_updater.refresh_soon()  # it may have registered since: a coordinator or leader that is new
            raise NoUsableNode(f"node {node_id} is not known")
        if metadata_updater.quarantine.holds((node.node_id, node.address)):
            raise NoUsableNode(f"node {node_id} is quarantined: {node.address} leads to another node")
        return await self._ask(node, message, purpose, timeout_ms, max_version, waits_on_broker=waits_on_broker)

    async def _ask(
        self,
        node: Node,
        message: Any,
        purpose: Purpose,
        timeout_ms: float | None,
        max_version: int | None = None,
        waits_on_broker: bool = False,
    ) -> Any:
        metadata_updater = self.metadata_updater
        generation = metadata_updater.rebootstrap.generation
        timeout_ms = self.settings.request_timeout_ms if timeout_ms is None else max(1.0, timeout_ms)
        try:
            # The caller's timeout may be shorter than the request's: then the call ends and the connection stays open.
            async with asyncio.timeout(timeout_ms / 1000 + _GRACE_SECONDS):
                connection = await metadata_updater.pool.get(node, purpose)
                if connection.verified:
                    metadata_updater.note_verified(node)
                built = message(connection) if callable(message) else message
                response_ms = timeout_ms if waits_on_broker else None
                return await connection.request(built, max_version=max_version, timeout_ms=response_ms)
        except TimeoutError:
            raise DeadlinePassed(
                f"node {node.node_id} at {node.address} did not answer in {timeout_ms:.0f} ms"
            ) from None
        except Misrouted as failure:
            metadata_updater.last_failure = failure
            metadata_updater.note_misroute(node, generation)
            raise
        except (ConnectFailed, ConnectionLost) as failure:
            metadata_updater.note_failure(failure)
            raise

    async def request_any(self, message: Any, *, timeout_ms: float | None = None) -> Any:
        """The response of the least loaded node; others are tried until the deadline (DeadlinePassed).

        A node that is not the controller and does not forward returns NOT_CONTROLLER (below the gate of a rolling
        upgrade, and in Kafka before KIP-590): then the other nodes are tried too, and the last response is returned."""
        deadline = self.deadline(timeout_ms)
        tried: set[int] = set()
        last: ClientFailure | None = None
        while True:
            node = await self.some_node(deadline, tried, last)
            left_ms = (deadline - asyncio.get_running_loop().time()) * 1000
            try:
                response = await self._ask(node, message, Purpose.REQUESTS, left_ms)
                tried.add(node.node_id)
                if not has_not_controller_error(response):
                    return response
                if self.metadata_updater.least_loaded_node(tried) is None:
                    self.metadata_updater.refresh_soon()  # a controller may have registered since
                    return response
            except ClientFailure as failure:
                if not failure.retriable:
                    raise
                last = failure
                tried.add(node.node_id)
            await self.pause(0 if self.metadata_updater.least_loaded_node(tried) else 1, deadline)

    async def some_node(self, deadline: float, tried: set[int], last: ClientFailure | None = None) -> Node:
        """A usable node, untried ones first; waits for one until the deadline (DeadlinePassed). ClientFailure at once
        when every bootstrap server rejects this client."""
        wait = self._wait(deadline)
        while True:
            node = self.metadata_updater.least_loaded_node(tried) or self.metadata_updater.least_loaded_node()
            if node is not None and asyncio.get_running_loop().time() < deadline:
                return node
            if not await wait.for_change():
                raise wait.out_of_time("no broker is available", last)

    def _wait(self, deadline: float) -> ViewWait:
        return ViewWait(self.metadata_updater, self.settings, deadline)

    async def pause(self, attempt: int, deadline: float) -> None:
        """Sleep for the retry backoff before attempt number `attempt` (0: none), at most until the deadline."""
        if attempt <= 0:
            return
        backoff_ms = backoff_after(attempt, self.settings.retry_backoff_ms, self.settings.retry_backoff_max_ms)
        remaining_s = deadline - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, min(backoff_ms / 1000, remaining_s)))

    async def topic(self, name: str, *, timeout_ms: float | None = None) -> TopicView:
        """A topic that exists and whose partitions are known; waits for it until the deadline (DeadlinePassed).

        At once: AuthorizationFailed, PolicyViolated, InvalidTopic; UnknownTopic when the topic does not exist for
        `topic.metadata.propagation.max.ms` and the client does not create topics."""
        return await self._wait(self.deadline(timeout_ms)).for_topic(name)

    async def leader_of(self, partition: TopicPartition, deadline: float) -> Node:
        """The leader of a partition, when it is usable; waits for one until the deadline (DeadlinePassed). Final errors
        of the topic as in `topic`."""
        return await self._wait(deadline).for_leader(partition)
