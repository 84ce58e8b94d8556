"""The HTTP server of the metrics page, on loopback unless configured otherwise; `metrics_text.py` writes the page,
`health_pages.py` the small pages beside it.

Every client that can connect may read it, so its resources are limited: at most `MAX_METRICS_CONNECTIONS`, which count
among the descriptors of the brokers' listeners (`network/acceptors/descriptors.py`), each for a minute at most, of
which ten seconds for its request. When all connections are in use, a new one replaces the oldest that has not sent its
request.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError, reason
from signalbox.common.limits import MAX_METRICS_CONNECTIONS
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.network.acceptors.acceptor import StreamAcceptor
from signalbox.network.acceptors.descriptors import Descriptors
from signalbox.server.metrics.health_pages import HttpResponse
from signalbox.server.metrics.metrics_text import render, render_process

_REQUEST_LIMIT_BYTES = 8_192
_REQUEST_TIMEOUT_S = 10.0
_TIMEOUT_S = 60.0  # a page waits for its slices while the planes are busy
_RETRY_S = 0.05
_BACKLOG = 128
_NO_HTTP = HttpResponse(  # a client of Kafka, or of TLS, would wait for the end of the time of a request
    "400 Bad Request", "text/plain; charset=utf-8", [b"this is the port of the metrics page, and speaks HTTP\n"]
)
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPage:
    """An HTTP server with the page /metrics, and `pages` by their path. `node_loop` is the scheduler's loop if the page
    runs in another one."""

    def __init__(
        self,
        registry: MetricRegistry,
        host: str,
        port: int,
        scheduler: TaskScheduler,
    ) -> None:
        self.pages: Mapping[bytes, Callable[[], Awaitable[HttpResponse]]] = {}
        self.node_loop: asyncio.AbstractEventLoop | None = None
        self._registry = registry
        self._scheduler = scheduler
        self._host = host
        self._port = port
        self._bound_port = 0
        self._descriptors = Descriptors()
        self._acceptors: list[StreamAcceptor] = []
        self._connections: set[asyncio.Task[None]] = set()
        # Connections without a complete request, the oldest first.
        self._idle_connections: dict[asyncio.Task[None], None] = {}
        self._next_page: asyncio.Future[list[bytes]] | None = None  # a page that is not begun yet

    async def start(self) -> int:
        """Returns the bound port. StartError names the key when the address cannot be bound."""
        try:
            socks = _listen(self._host, self._port)
        except (OSError, ValueError) as error:  # ValueError: not a host name
            raise StartError([self._unbound(error)]) from error
        loop = asyncio.get_running_loop()
        for sock in socks:
            self._acceptors.append(StreamAcceptor(loop, sock, self._wait_seconds, self._accepted))
            self._acceptors[-1].start()
        self._bound_port = int(socks[0].getsockname()[1])
        return self._bound_port

    @property
    def url(self) -> str:
        """The page's address; empty before it is bound."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._bound_port}/metrics" if self._bound_port else ""

    def _unbound(self, error: OSError | ValueError) -> ConfigFault:
        if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
            problem = f"cannot be bound on {self._host}: {os.strerror(error.errno)}"
            remedy = "Give a port from 1024 on that no other program has, 0 for any free one, or -1 for no page"
            return ConfigFault("signalbox.metrics.http.port", str(self._port), problem, remedy)
        problem = f"cannot be bound with port {self._port}: {reason(error)}"
        return ConfigFault("signalbox.metrics.http.host", self._host, problem, "Give an address of this machine")

    async def stop(self) -> None:
        for acceptor in self._acceptors:
            acceptor.stop()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _wait_seconds(self) -> float:
        is_full = len(self._connections) >= MAX_METRICS_CONNECTIONS and not self._idle_connections
        return _RETRY_S if is_full or self._descriptors.scarce(for_brokers=True) else 0.0

    def _accepted(self, sock: socket.socket, _: Any) -> None:
        if len(self._connections) >= MAX_METRICS_CONNECTIONS:
            oldest = next(iter(self._idle_connections))
            del self._idle_connections[oldest]
            oldest.cancel()
        sock.setblocking(False)
        connection = asyncio.get_running_loop().create_task(self._serve(sock))
        self._connections.add(connection)
        self._idle_connections[connection] = None
        connection.add_done_callback(lambda _: self._ended(connection, sock))

    def _ended(self, connection: asyncio.Task[None], sock: socket.socket) -> None:
        self._connections.discard(connection)
        self._idle_connections.pop(connection, None)
        sock.close()  # for a connection that was closed before its task began

    async def _serve(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=sock, limit=_REQUEST_LIMIT_BYTES)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await self._answer(reader, writer)
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
            pass  # a scraper that does not complete its request, or does not read its page
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_REQUEST_TIMEOUT_S):
            request = await reader.readexactly(1)
            if is_http := request.isalpha():
                request += await reader.readuntil(b"\r\n\r\n")
        this = asyncio.current_task()
        assert this is not None
        self._idle_connections.pop(this, None)
        path = request.split(b" ", 2)[1] if request.startswith(b"GET ") else b""
        response = await self._response(path.split(b"?")[0]) if is_http else _NO_HTTP
        writer.write(
            f"HTTP/1.1 {response.status}\r\nContent-Type: {response.content_type}\r\n"
            f"Content-Length: {sum(map(len, response.body))}\r\nConnection: close\r\n\r\n".encode()
        )
        for part in response.body:
            writer.write(part)
        await writer.drain()

    async def _response(self, path: bytes) -> HttpResponse:
        if path in (b"/metrics", b"/"):
            return HttpResponse("200 OK", _METRICS_TYPE, [render_process(), *await self._page()])
        if path in self.pages:
            return await self.pages[path]()
        names = ", ".join(["/metrics", *(name.decode() for name in self.pages)])
        return HttpResponse("404 Not Found", "text/plain; charset=utf-8", [f"only GET of {names} is here\n".encode()])

    async def _page(self) -> list[bytes]:
        """Returns the parts of a page that is begun after this call. Requests that arrive before it is begun share one
        page."""
        page = self._next_page
        if page is None:
            page = self._next_page = asyncio.get_running_loop().create_future()
            begin = partial(self._scheduler.run, partial(self._write, page))
            if self.node_loop is None:
                begin()
            else:
                self.node_loop.call_soon_threadsafe(begin)
        return await asyncio.shield(page)

    def _write(self, page: asyncio.Future[list[bytes]]) -> None:
        """In the scheduler's loop. Yields."""
        self._next_page = None
        try:
            settle = partial(page.set_result, render(self._registry))
        except Exception as error:
            settle = partial(page.set_exception, error)
        try:
            page.get_loop().call_soon_threadsafe(settle)
        except RuntimeError:  # the loop of the page is closed: the node stops
            return


def _listen(host: str, port: int) -> list[socket.socket]:
    """Returns a listening socket for each address of `host`, all with the same port."""
    socks: list[socket.socket] = []
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, kind, protocol, _, address in dict.fromkeys(addresses):
            if family == socket.AF_INET6 and not socket.has_dualstack_ipv6() and len(addresses) > 1:
                continue
            sock = socket.socket(family, kind, protocol)
            socks.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)
            sock.setblocking(False)
            sock.bind((address[0], port, *address[2:]))
            sock.listen(_BACKLOG)
            port = sock.getsockname()[1]
    except BaseException:
        for sock in socks:
            sock.close()
        raise
    return socks
