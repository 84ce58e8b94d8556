"""The socket server: every listener of the node, both planes, from bind to close.

The start has three steps, because a broker registers its real ports before it responds: `start_listening` binds (the
system replaces port 0; the kernel queues new connections), the broker registers, `enable` starts to accept. `stop`
closes acceptors and connections. The data loop runs the connections of the data plane, asyncio those of the control
plane (and of a controller's listeners).
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import host_port
from signalbox.network.acceptors.acceptor import Acceptor, DataAcceptor, OnAccepted
from signalbox.network.acceptors.binding import BindError, bind_listener
from signalbox.network.acceptors.control_acceptor import ControlAcceptor
from signalbox.network.connection import Connection
from signalbox.network.connection_registry import ConnectionRegistry
from signalbox.network.listeners.listener import Listener
from signalbox.network.listeners.listener_security import ListenerSecurity
from signalbox.network.listeners.listener_table import ListenerRow, ListenerTable
from signalbox.network.listeners.listener_table_change import added_rows
from signalbox.network.listeners.network_settings import NetworkSettings
from signalbox.network.plane import CONTROL, CONTROLLER, DATA, Plane
from signalbox.network.ports import NetworkPorts
from signalbox.network.quotas.idle_expiry import IdleExpiry
from signalbox.network.quotas.limits_reading import read_expiry_limits, read_limits, read_quotas
from signalbox.network.quotas.rejections import Rejections
from signalbox.network.request_queue import RequestQueue
from signalbox.network.sasl.jwks_refresher import JwksRefresher
from signalbox.network.server_gauges import ServerGauges
from signalbox.security.tls.listener_tls import ListenerTls
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.socket_address import address_of, tune
from signalbox.transport.tls.tls_channel import TlsDataChannel
from signalbox.transport.tls.tls_session import TlsFactory, TlsSession

log = logging.getLogger("signalbox.network")

_FIRST_KEYS_S = 3.0


class SocketServer:
    """One per node. It runs in the asyncio loop of `data_loop`."""

    def __init__(
        self, table: ListenerTable, settings: NetworkSettings, ports: NetworkPorts, data_loop: DataLoop
    ) -> None:
        self.table = table
        self.settings = settings
        self._ports = ports
        self._data_loop = data_loop
        self._rejections = Rejections(ports.audit, ports.metrics, ports.clock)
        self._quotas = read_quotas(table, settings, ports.clock)
        self._next_index = count()
        self._sockets: dict[str, socket.socket] = {}
        self._registries: dict[str, ConnectionRegistry] = {}
        self._acceptors: dict[str, Acceptor] = {}
        self._tls = {
            name: listener_security.tls
            for name, listener_security in ports.security.items()
            if listener_security.tls is not None
        }
        self._expiry = IdleExpiry(
            self.connections, read_expiry_limits(settings.everywhere), ports.clock, self._on_sweep
        )
        self._queues = {
            name: RequestQueue(ports.request_sink, data_loop.asyncio_loop, ports.clock)
            for name in (CONTROL, CONTROLLER)
        }
        self.planes = {name: Plane(name, queue) for name, queue in self._queues.items()}
        self.planes[DATA] = Plane(DATA, data_loop)
        self._gauges = ServerGauges(ports.metrics, ports.clock)
        self._gauges.register_server(
            (self.planes[name] for name in {DATA, *(row.plane for row in table)}), data_loop.pool
        )

    async def start_listening(self) -> dict[str, int]:
        """Bind every listener; returns the ports by listener name. BindError names all listeners that could not be
        bound; no listener is bound then. From then on `table` has the real ports and hosts."""
        backlog = self.settings.everywhere.number("socket.listen.backlog.size")
        faults: list[ConfigFault] = []
        for row in self.table:
            try:
                self._sockets[row.name] = bind_listener(row.name, row.host, row.port, backlog)
            except BindError as error:
                faults += error.faults
        if faults:
            for sock in self._sockets.values():
                sock.close()
            self._sockets.clear()
            raise BindError(faults)
        self.table = self._with_ports(self.table)
        return self._bound_ports()

    def _bound_ports(self) -> dict[str, int]:
        return {name: sock.getsockname()[1] for name, sock in self._sockets.items()}

    def _with_ports(self, table: ListenerTable) -> ListenerTable:
        nameless = any(row.advertised is not None and not row.advertised.host for row in table)
        return table.with_bound_ports(self._bound_ports(), socket.getfqdn() if nameless else "")

    async def enable(self) -> None:
        """Start to accept and serve, the control plane first. Waits up to 3 s for the keys that validate tokens, so
        that the first clients are not rejected."""
        for refresher in self._refreshers():
            refresher.start()
        waits = [asyncio.to_thread(refresher.wait_for_first_fetch, _FIRST_KEYS_S) for refresher in self._refreshers()]
        await asyncio.gather(*waits)
        for row in sorted(self.table, key=lambda row: row.plane == DATA):
            self._serve(row)
        self._expiry.start()
        log.info("listening on %s", ", ".join(f"{row.name} ({host_port(row.host, row.port)})" for row in self.table))

    def _serve(self, row: ListenerRow) -> None:
        """Accept on a bound listener from now on."""
        acceptor: Acceptor
        loop, registry, sock = self._data_loop, self._registry(row), self._sockets[row.name]
        if row.plane == DATA:
            acceptor = DataAcceptor(loop, sock, registry.wait_seconds, self._data_receiver(registry))
        else:
            acceptor = ControlAcceptor(loop.asyncio_loop, sock, registry, loop.pool, self._tls_factory(row))
        self._acceptors[row.name] = acceptor
        self._gauges.register_listener(registry, acceptor)
        acceptor.start()

    def add_listeners(
        self, table: ListenerTable, settings: NetworkSettings, security: Mapping[str, ListenerSecurity]
    ) -> None:
        """Apply `table`, but keep the listeners that it lacks: bind and serve its new listeners, and advertise the
        others as it says. After BindError nothing has changed."""
        backlog = settings.everywhere.number("socket.listen.backlog.size")
        bound: dict[str, socket.socket] = {}
        try:
            for row in added_rows(self.table, table):
                bound[row.name] = bind_listener(row.name, row.host, row.port, backlog)
        except BindError:
            for sock in bound.values():
                sock.close()
            raise
        self._sockets |= bound
        self._replace_security({name: security[name] for name in bound})
        self._tls |= {name: tls for name in bound if (tls := security[name].tls) is not None}
        self.settings, self.table = settings, self._with_ports(table)
        self._quotas.change(*read_limits(self.table, settings))
        for name in bound:
            self._serve(self.table.row(name))
            log.info("listening on %s too", self.table.row(name).name)

    async def remove_listeners(self, drain_seconds: float) -> None:
        """Stop accepting on the listeners that `table` lacks; their connections may finish their requests for
        `drain_seconds`, and are then closed."""
        removed = [name for name in self._acceptors if name not in self.table]
        for name in removed:
            self._acceptors.pop(name).stop()
            self._sockets.pop(name)
        if any(self._registries[name].connections for name in removed):
            await asyncio.sleep(drain_seconds)
        for name in removed:
            self._registries.pop(name).close_all("the listener was removed")
            self._tls.pop(name, None)
            for refresher in self._ports.security[name].refreshers if name in self._ports.security else ():
                refresher.close()
            self._gauges.forget_listener(name)
            log.info("no longer listening on %s", name)
        self._ports.security = {
            name: security for name, security in self._ports.security.items() if name not in removed
        }

    def reconfigure(self, settings: NetworkSettings, security: Mapping[str, ListenerSecurity]) -> None:
        """Apply other limits, and the SASL mechanisms in `security` for new connections; existing connections do not
        change. `replace_tls` changes TLS."""
        self._replace_security(security)
        self.settings = settings
        self._quotas.change(*read_limits(self.table, settings))
        for name, registry in self._registries.items():
            registry.listener.settings = settings.listener(name)

    async def stop_accepting(self) -> None:
        """Close the listening sockets; connections stay."""
        for acceptor in self._acceptors.values():
            acceptor.stop()
        self._acceptors.clear()

    async def stop(self, reason: str = "the broker stops") -> None:
        """Close everything."""
        await self.stop_accepting()
        self._expiry.stop()
        for refresher in self._refreshers():
            refresher.close()
        for registry in self._registries.values():
            registry.close_all(reason)
        for sock in self._sockets.values():
            sock.close()

    def connections(self) -> Iterator[Connection]:
        """Every connection of every listener."""
        for registry in self._registries.values():
            yield from registry.connections.values()

    def tokens_changed(self, ends_ms: Mapping[str, int | None]) -> None:
        """New expiry times (epoch ms) of delegation tokens by id, None for removed tokens: sessions end with their
        token."""
        for connection in list(self.connections()):
            if connection.authentication is not None:
                connection.authentication.tokens_changed(ends_ms)

    def tls_of(self, listener_name: str) -> ListenerTls | None:
        """The current TLS of the listener; None for a listener without TLS."""
        return self._tls.get(listener_name)

    def replace_tls(self, listener_name: str, tls: ListenerTls) -> None:
        """Use `tls` from the next accepted connection on; existing connections, and those in a TLS handshake, keep the
        old one. `listener_security.renew_tls` makes and checks `tls`. KeyError for a listener without TLS."""
        if listener_name not in self._tls:
            raise KeyError(f"listener {listener_name} has no TLS to replace")
        self._tls[listener_name] = tls
        log.info("Listener %s: new keys or certificates loaded", listener_name)

    def _replace_security(self, security: Mapping[str, ListenerSecurity]) -> None:
        """Replace the security of these listeners: stop their old key refreshers and start the new ones."""
        before = self._ports.security
        for name, listener_security in security.items():
            for refresher in before[name].refreshers if name in before else ():
                refresher.close()
            for refresher in listener_security.refreshers:
                refresher.start()
        self._ports.security = {**before, **security}

    def _refreshers(self) -> list[JwksRefresher]:
        return [refresher for security in self._ports.security.values() for refresher in security.refreshers]

    def _registry(self, row: ListenerRow) -> ConnectionRegistry:
        plane = self.planes[row.plane]
        sink = self._queues.get(row.plane, self._ports.request_sink)
        settings = self.settings.listener(row.name)
        listener = Listener(row, plane, settings, self._ports, sink, self._rejections)
        self._registries[row.name] = registry = ConnectionRegistry(
            listener, self._ports, self._quotas, self._next_index
        )
        return registry

    def _data_receiver(self, registry: ConnectionRegistry) -> OnAccepted:
        everywhere = self.settings.everywhere
        send_bytes = everywhere.number("socket.send.buffer.bytes")
        receive_bytes = everywhere.number("socket.receive.buffer.bytes")
        tls = self._tls_factory(registry.listener.row)
        frame_bytes = registry.listener.setup_frame_bytes

        def receive(sock: socket.socket, address: Any) -> None:
            host, _ = address_of(address)
            if not registry.accept(sock, host):
                return
            try:
                tune(sock, send_bytes, receive_bytes)
                channel = (
                    DataChannel(self._data_loop, sock, frame_bytes)
                    if tls is None
                    else TlsDataChannel(self._data_loop, sock, tls(), frame_bytes)
                )
            except OSError:
                sock.close()  # the peer has closed it
                registry.release(host)
                return
            connection = registry.register(channel)
            channel.on_ready = lambda: registry.on_ready(connection)
            channel.start()

        return receive

    def _tls_factory(self, row: ListenerRow) -> TlsFactory | None:
        if not row.security_protocol.uses_tls:
            return None
        if row.name not in self._tls:
            raise ValueError(f"listener {row.name} uses TLS but has no certificate")
        in_use, name, threads = self._tls, row.name, self._data_loop.threads
        executor = threads.data if row.plane == DATA else threads.control
        return lambda: TlsSession(in_use[name].context, executor, server_side=True)

    def flush_audit(self) -> None:
        """Record the open windows of rejected connections as audit events, before the audit trail is closed."""
        self._rejections.windows.close()

    def connections_over(self, settings: NetworkSettings) -> list[tuple[str, int, int]]:
        """(address, open connections, limit) of each address with more open connections than `settings` allow."""
        return self._quotas.over(read_limits(self.table, settings)[0])

    def _on_sweep(self) -> None:
        """Release unused buffers; end windows of rejected connections; close idle unprotected connections if protected
        ones exceed the broker's limit."""
        self._data_loop.pool.trim()
        self._rejections.windows.flush()
        excess = self._quotas.excess
        if excess:
            candidates = [
                connection
                for connection in self.connections()
                if not connection.busy
                and connection.listener.row.plane == DATA
                and not connection.listener.row.inter_broker
            ]
            candidates.sort(key=lambda connection: connection.channel.active_at)
            for connection in candidates[:excess]:
                connection.close("more connections than max.connections")
