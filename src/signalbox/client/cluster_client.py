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

from signalbox.client.client_settings import ClientSettings
from signalbox.client.failures import (
    ClientFailure,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    Misrouted,
    NoUsableNode,
    WrongCluster,
)
from signalbox.client.metadata_updater import MetadataUpdater
from signalbox.client.metadata_view import MetadataView, TopicView
from signalbox.client.node import Node, Purpose
from signalbox.client.route_report import RouteReport, report_routes
from signalbox.common.backoff import backoff_after
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.response_errors import has_not_controller_error

_GRACE_SECONDS = 0.05  # the connection's own timeout fires first when both are equal


class ClusterClient:
    """One client of one cluster. `async with ClusterClient(settings) as client:` or `start()` and `close()`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._keeper: MetadataUpdater | None = None

    async def __aenter__(self) -> ClusterClient:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def start(self) -> None:
        """Begin to bootstrap; calls wait for it until their deadlines."""
        if self._keeper is None:
            self._keeper = MetadataUpdater(self.settings)

    async def close(self) -> None:
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            await keeper.close()

    @property
    def keeper(self) -> MetadataUpdater:
        """The client's metadata updater; RuntimeError before `start` and after `close`."""
        if self._keeper is None:
            raise RuntimeError("the client is not started, or closed")
        return self._keeper

    @property
    def view(self) -> MetadataView:
        return self.keeper.view

    @property
    def rebootstraps(self) -> int:
        """How often this client rebootstrapped."""
        return self.keeper.machine.starts_over

    def routes(self) -> list[RouteReport]:
        """Per known node: its address, whether it confirmed its identity, and how often it was rejected."""
        return report_routes(self.keeper)

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
    ) -> Any:
        """One attempt at one node. ClientFailure when there is no response; its `retriable` says whether to retry."""
        keeper = self.keeper
        node = keeper.view.nodes.get(node_id)
        if node is None:
            raise NoUsableNode(f"node {node_id} is not known")
        if keeper.quarantine.holds((node.node_id, node.address)):
            raise NoUsableNode(f"node {node_id} is set aside: {node.address} leads to somebody else")
        return await self._ask(node, message, purpose, timeout_ms, max_version)

    async def _ask(
        self,
        node: Node,
        message: Any,
        purpose: Purpose,
        timeout_ms: float | None,
        max_version: int | None = None,
    ) -> Any:
        keeper = self.keeper
        generation = keeper.machine.generation
        timeout_ms = self.settings.request_timeout_ms if timeout_ms is None else max(1.0, timeout_ms)
        try:
            # The caller's timeout may be shorter than the request's: then the call ends and the connection stays open.
            async with asyncio.timeout(timeout_ms / 1000 + _GRACE_SECONDS):
                connection = await keeper.pool.get(node, purpose)
                if connection.verified:
                    keeper.note_verified(node)
                built = message(connection) if callable(message) else message
                return await connection.request(built, max_version=max_version)
        except TimeoutError:
            raise DeadlinePassed(
                f"node {node.node_id} at {node.address} did not answer in {timeout_ms:.0f} ms"
            ) from None
        except Misrouted as failure:
            keeper.last_failure = failure
            keeper.note_misroute(node, generation)
            raise
        except (ConnectFailed, ConnectionLost) as failure:
            keeper.note_failure(failure)
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
                answer = await self._ask(node, message, Purpose.REQUESTS, left_ms)
                tried.add(node.node_id)
                if not has_not_controller_error(answer):
                    return answer
                if self.keeper.least_loaded_node(tried) is None:
                    self.keeper.refresh_soon()  # a controller may have registered since
                    return answer
            except ClientFailure as failure:
                if not failure.retriable:
                    raise
                last = failure
                tried.add(node.node_id)
            await self.pause(0 if self.keeper.least_loaded_node(tried) else 1, deadline)

    async def some_node(self, deadline: float, tried: set[int], last: ClientFailure | None = None) -> Node:
        """A usable node, untried ones first; waits for one until the deadline (DeadlinePassed)."""
        while True:
            node = self.keeper.least_loaded_node(tried) or self.keeper.least_loaded_node()
            if node is not None and asyncio.get_running_loop().time() < deadline:
                return node
            if not await self._wait_for_view(deadline):
                raise self.out_of_time("no broker could be asked", last)

    async def _wait_for_view(self, deadline: float) -> bool:
        """Wait until the view changes or a backoff is over; False when the deadline has passed."""
        loop = asyncio.get_running_loop()
        await self.keeper.view_changed(min(deadline, loop.time() + self.settings.retry_backoff_ms / 1000))
        return loop.time() < deadline

    async def pause(self, attempt: int, deadline: float) -> None:
        """Sleep for the retry backoff before attempt number `attempt` (0: none), at most until the deadline."""
        if attempt <= 0:
            return
        backoff_ms = backoff_after(attempt, self.settings.retry_backoff_ms, self.settings.retry_backoff_max_ms)
        left = deadline - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, min(backoff_ms / 1000, left)))

    async def topic(self, name: str, *, timeout_ms: float | None = None) -> TopicView:
        """A topic that exists and whose partitions are known. DeadlinePassed when there is none in time."""
        deadline = self.deadline(timeout_ms)
        while True:
            known = self.view.topics.get(name)
            if known is not None and known.error_code == Error.NONE and known.partitions:
                return known
            self.keeper.refresh_soon([name])
            if not await self._wait_for_view(deadline):
                reason = Error.of(known.error_code).name if known is not None else "no metadata"
                raise self.out_of_time(f"topic {name} is not to be had ({reason})", None)

    async def leader_of(self, partition: TopicPartition, deadline: float) -> Node:
        """The leader of a partition, when it is usable; waits for one until the deadline (DeadlinePassed)."""
        while True:
            leader_id = self.view.leader_of(partition)
            node = self.view.nodes.get(leader_id) if leader_id is not None else None
            if node is not None and self.keeper.is_usable(node):
                return node
            self.keeper.refresh_soon([partition.topic])
            if not await self._wait_for_view(deadline):
                raise self.out_of_time(f"partition {partition} has no leader that can be asked", None)

    def out_of_time(self, what: str, last: ClientFailure | None) -> DeadlinePassed:
        """The error for a deadline that passed, with the failure that caused it."""
        cause = last or self.keeper.last_failure
        foreign = self.keeper.machine.foreign_cluster_id
        if self.view.cluster_id is None and foreign is not None:
            pinned = self.keeper.machine.cluster_policy.pinned
            cause = WrongCluster(f"the seeds lead to cluster {foreign}, pinned is {pinned}")
        failure = DeadlinePassed(f"{what}: {cause}" if cause is not None else what)
        failure.__cause__ = cause
        return failure
