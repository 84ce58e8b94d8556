"""The Prometheus page: the node's metrics over HTTP, on loopback unless configured otherwise.

The text comes from prometheus-client, which is imported when the first scrape comes: a broker that nobody scrapes
does not carry it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from typing import Any

from signalbox.broker.metric_registry import MetricRegistry, Sample
from signalbox.common.config_table import ConfigFault
from signalbox.common.start_refused import StartRefused, reason

_REQUEST_LIMIT_BYTES = 8_192
_TIMEOUT_S = 10.0


class MetricsPage:
    """A small HTTP server with one page, /metrics."""

    def __init__(self, registry: MetricRegistry, host: str, port: int) -> None:
        self._registry = registry
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """The port it is bound to. StartRefused names the key when the address cannot be bound."""
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
                body = render(self._registry) if found else b"only GET /metrics is here\n"
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


def prometheus_name(sample: Sample) -> str:
    """`kafka.network:type=RequestMetrics,name=RequestsPerSec` → `kafka_network_requestmetrics_requestspersec`."""
    return re.sub(r"[^a-z0-9_]", "_", "_".join(sample.name).lower())


def render(registry: MetricRegistry) -> bytes:
    """The page's text."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import Metric

    families: dict[str, Any] = {}
    for sample in registry.samples():
        name = prometheus_name(sample)
        family = families.get(name)
        if family is None:
            mbean = f"{sample.name.group}:type={sample.name.type},name={sample.name.name}"
            family = families[name] = Metric(name, mbean, "counter" if sample.kind == "counter" else "gauge")
        labels = {re.sub(r"[^a-zA-Z0-9_]", "_", key): value for key, value in sample.tags}
        family.add_sample(f"{name}_total" if sample.kind == "counter" else name, labels, sample.value)

    class Families:
        def collect(self) -> list[Any]:
            return list(families.values())

    page = CollectorRegistry(auto_describe=False)
    page.register(Families())
    return generate_latest(page)
