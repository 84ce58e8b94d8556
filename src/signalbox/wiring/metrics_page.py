"""The Prometheus page: the node's metrics over HTTP, on loopback unless configured otherwise.

The text comes from prometheus-client, which is imported when the page starts: a broker without one does not carry it.
A page is long work (`common/long_work.py`): thousands of partitions have thousands of lines.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from typing import Any

from signalbox.broker.metric_registry import MetricRegistry, Sample
from signalbox.broker.ports import LongLane
from signalbox.common.config_table import ConfigFault
from signalbox.common.long_work import breathe
from signalbox.common.start_refused import StartRefused, reason

_REQUEST_LIMIT_BYTES = 8_192
_TIMEOUT_S = 10.0
_SAMPLES_AT_A_TIME = 16


class MetricsPage:
    """A small HTTP server with one page, /metrics."""

    def __init__(self, registry: MetricRegistry, host: str, port: int, lane: LongLane) -> None:
        self._registry = registry
        self._lane = lane
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """The port it is bound to. StartRefused names the key when the address cannot be bound."""
        import prometheus_client  # noqa: F401 - now, and not while a scraper waits

        try:
            self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=_REQUEST_LIMIT_BYTES)
        except (OSError, ValueError) as error:  # ValueError: a host that is no name at all
            raise StartRefused([self._unbound(error)]) from error
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def _unbound(self, error: OSError | ValueError) -> ConfigFault:
        if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
            problem = f"cannot be bound on {self._host}: {os.strerror(error.errno)}"
            remedy = "Give a port from 1024 on that no other program has, 0 for any free one, or -1 for no page"
            return ConfigFault("metrics.http.port", str(self._port), problem, remedy)
        problem = f"cannot be bound with port {self._port}: {reason(error)}"
        return ConfigFault("metrics.http.host", self._host, problem, "Give an address of this machine")

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                request = await reader.readuntil(b"\r\n\r\n")
                path = request.split(b" ", 2)[1] if request.startswith(b"GET ") else b""
                found = path.split(b"?")[0] in (b"/metrics", b"/")
                body = await self._page() if found else b"only GET /metrics is here\n"
                status = b"200 OK" if found else b"404 Not Found"
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                    b"Content-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body))
                )
                writer.write(body)
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
            pass  # a scraper that does not finish its request gets no page
        finally:
            writer.close()

    async def _page(self) -> bytes:
        page: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def write() -> None:
            try:
                text = render(self._registry)
            except Exception as error:
                if not page.done():
                    page.set_exception(error)
            else:
                if not page.done():  # the scraper may have lost patience
                    page.set_result(text)

        self._lane.run(write)
        return await page


def prometheus_name(sample: Sample) -> str:
    """`kafka.network:type=RequestMetrics,name=RequestsPerSec` → `kafka_network_requestmetrics_requestspersec`."""
    return re.sub(r"[^a-z0-9_]", "_", "_".join(sample.name).lower())


def render(registry: MetricRegistry) -> bytes:
    """The page's text; breathes."""
    families: dict[tuple[str, str, str], list[Any]] = {}
    for sample in registry.samples():
        breathe()
        name = prometheus_name(sample)
        mbean = f"{sample.name.group}:type={sample.name.type},name={sample.name.name}"
        key = (name, mbean, "counter" if sample.kind == "counter" else "gauge")
        labels = {re.sub(r"[^a-zA-Z0-9_]", "_", tag): value for tag, value in sample.tags}
        families.setdefault(key, []).append(
            (f"{name}_total" if sample.kind == "counter" else name, labels, sample.value)
        )
    text: list[bytes] = []
    for key, samples in families.items():
        for first in range(0, len(samples), _SAMPLES_AT_A_TIME):
            piece = _lines(key, samples[first : first + _SAMPLES_AT_A_TIME])
            text.append(piece if not first else _without_head(piece))
            breathe()
    return b"".join(text)


def _lines(key: tuple[str, str, str], samples: list[Any]) -> bytes:
    """Some samples of one family, below its head."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import Metric

    family = Metric(*key)
    for sample in samples:
        family.add_sample(*sample)

    class Family:
        def collect(self) -> list[Any]:
            return [family]

    page = CollectorRegistry(auto_describe=False)
    page.register(Family())
    return generate_latest(page)


def _without_head(piece: bytes) -> bytes:
    return b"".join(line for line in piece.splitlines(keepends=True) if not line.startswith(b"#"))
