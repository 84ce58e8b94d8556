"""All connections of one client, one per (node id, purpose), opened on first use.

Callers that need the same connection wait for the same attempt. After a failed attempt a node is not used for its
reconnect backoff (50 ms doubling to 1 s); a successful connect resets it. Dropping a node closes its connections of
every purpose: the connection to a misrouted coordinator is closed together with those of its node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from signalbox.client.client_metrics import ConnectionCounts, Metrics, Traffic
from signalbox.client.cluster.failing_connections import FailingConnections, at_limit
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import ConnectionKey, Identity, Node, Purpose
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed
from signalbox.common.backoff import Backoff

IdentityOf = Callable[[int], Identity | None]


class _ReconnectBackoff(Backoff):
    """The reconnect backoff of a node, and when it ends."""

    until = 0.0


class ConnectionPool:
    """Owned by one ClusterClient. Times are the loop's, in seconds."""

    def __init__(
        self,
        settings: ConnectionSettings,
        identity_of: IdentityOf,
        reconnect_backoff_ms: float = 50,
        reconnect_backoff_max_ms: float = 1_000,
    ) -> None:
        self._settings = settings
        self._identity_of = identity_of
        self._backoff_ms = reconnect_backoff_ms
        self._backoff_max_ms = reconnect_backoff_max_ms
        self._open: dict[ConnectionKey, ClientConnection] = {}
        self._opening: dict[ConnectionKey, asyncio.Task[ClientConnection]] = {}
        self._backoffs: dict[int, _ReconnectBackoff] = {}
        self.failing = FailingConnections()
        self._counts = ConnectionCounts()
        self._alive: set[ClientConnection] = set()
        self._old_traffic = Traffic()  # of connections that have ended

    async def get(self, node: Node, purpose: Purpose = Purpose.REQUESTS) -> ClientConnection:
        """An open connection to `node`; ConnectFailed and its subclasses when none can be opened."""
        key = ConnectionKey(node.node_id, purpose)
        ready = self._open.get(key)
        if ready is not None and ready.is_open and ready.address == node.address and not ready.leaving:
            return ready
        if ready is not None:
            del self._open[key]
            if not ready.leaving:  # else it closes by itself after its last response
                ready.close("the node has another address now")
        task = self._opening.get(key)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._connect(node, key))
            self._opening[key] = task
            task.add_done_callback(lambda done: self._opened(key, done))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() and not (current is not None and current.cancelling()):
                raise ConnectFailed(node.address, "tcp", "cancelled while connecting") from None
            raise

    async def _connect(self, node: Node, key: ConnectionKey) -> ClientConnection:
        backoff = self._backoffs.setdefault(node.node_id, _ReconnectBackoff(self._backoff_ms, self._backoff_max_ms))
        try:
            connection = await connect(node.address, self._settings, self._identity_of(node.node_id))
        except ConnectFailed as failure:
            self._counts.failed_authentications += isinstance(failure, AuthenticationRejected)
            now = asyncio.get_running_loop().time()
            backoff.until = now + backoff.grow() / 1000
            explained = at_limit(failure, self._open_to(node))
            self.failing.failed(key, explained, now)
            if explained is failure:
                raise
            raise explained from failure
        self._add(key, connection)
        return connection

    def _open_to(self, node: Node) -> int:
        """The number of open connections to a node at its present address."""
        rows = (row for key, row in self._open.items() if key.node_id == node.node_id)
        return sum(row.is_open and row.address == node.address for row in rows)

    def keep(self, node_id: int, connection: ClientConnection) -> None:
        """Use a connection that was opened elsewhere, for requests to its node. It is closed if there is one."""
        key = ConnectionKey(node_id, Purpose.REQUESTS)
        ready = self._open.get(key)
        if key in self._opening or (ready is not None and ready.is_open):
            connection.close("there is another connection")
        else:
            self._add(key, connection)

    def _add(self, key: ConnectionKey, connection: ClientConnection) -> None:
        self._backoffs.pop(key.node_id, None)
        self.failing.succeeded(key)
        self._open[key] = connection
        self._counts.created += 1
        self._alive.add(connection)
        connection.on_closed(lambda: self._ended(connection))

    def _ended(self, connection: ClientConnection) -> None:
        self._counts.closed += 1
        self._alive.discard(connection)
        self._old_traffic.merge(connection.traffic)

    def metrics(self) -> Metrics:
        """The metrics of all connections that this pool has had."""
        traffic = Traffic()
        for one in (self._old_traffic, *(connection.traffic for connection in self._alive)):
            traffic.merge(one)
        return {**self._counts.as_metrics(), **traffic.as_metrics()}

    def _opened(self, key: ConnectionKey, task: asyncio.Task[ClientConnection]) -> None:
        if self._opening.get(key) is task:
            del self._opening[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved: all waiting callers may have been cancelled

    def backing_off(self, node_id: int, now: float) -> bool:
        """Whether the last attempt failed and its backoff is not over."""
        backoff = self._backoffs.get(node_id)
        return backoff is not None and now < backoff.until

    def load(self, node_id: int) -> tuple[bool, int]:
        """(no open connection, requests in flight): the node with the smallest pair is the least loaded."""
        rows = [row for key, row in self._open.items() if key.node_id == node_id and row.is_open]
        return not rows, sum(row.in_flight for row in rows)

    def drop_node(self, node_id: int, reason: str) -> None:
        """Close every connection to a node, of all purposes."""
        self.failing.drop_node(node_id)
        for key in [key for key in self._open if key.node_id == node_id]:
            self._open.pop(key).close(reason)
        for key in [key for key in self._opening if key.node_id == node_id]:
            self._opening.pop(key).cancel()

    def drop_all(self, reason: str) -> None:
        """Close all connections and remove all backoffs."""
        for node_id in {key.node_id for key in (*self._open, *self._opening)}:
            self.drop_node(node_id, reason)
        self._backoffs.clear()

    async def close(self, reason: str) -> None:
        """Close all connections; returns when no attempt to connect is under way any more."""
        opening = tuple(self._opening.values())
        self.drop_all(reason)
        await asyncio.gather(*opening, return_exceptions=True)

    def connections(self) -> list[tuple[ConnectionKey, ClientConnection]]:
        """The open connections with their keys."""
        return [(key, row) for key, row in self._open.items() if row.is_open]

    def last_failure(self, key: ConnectionKey) -> ClientFailure | None:
        """Why a connection closed that the pool still holds; else None."""
        row = self._open.get(key)
        return row.failure if row is not None else None
