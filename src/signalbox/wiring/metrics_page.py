"""The Prometheus page: the node's metrics over HTTP, on loopback unless configured otherwise.

A page is long work (`common/long_work.py`): thousands of partitions have thousands of lines. So its text (0.0.4) is
written here, a line at a time; prometheus-client makes a page in one go, and judges this one in tests.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import re

from signalbox.broker.metric_registry import MetricRegistry, Sample
from signalbox.broker.ports import LongLane
from signalbox.common.config_table import ConfigFault
from signalbox.common.long_work import breathe
from signalbox.common.start_refused import StartRefused, reason

_REQUEST_LIMIT_BYTES = 8_192
_TIMEOUT_S = 60.0  # a page waits for its slices while the planes are full
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


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
    families: dict[tuple[str, str, str], list[str]] = {}
    for sample in registry.samples():
        breathe()
        name = prometheus_name(sample)
        if sample.kind == "counter":
            key = (f"{name}_total", "counter", _mbean(sample))
        else:
            key = (name, "gauge", _mbean(sample))
        lines = families.get(key)
        if lines is None:
            lines = families[key] = [f"# HELP {key[0]} {key[2]}\n# TYPE {key[0]} {key[1]}\n"]
        lines.append(f"{key[0]}{_labels(sample)} {_number(sample.value)}\n")
    text = []
    for lines in families.values():
        text.append("".join(lines))
        breathe()
    return "".join(text).encode()


def _mbean(sample: Sample) -> str:
    return f"{sample.name.group}:type={sample.name.type},name={sample.name.name}"


def _labels(sample: Sample) -> str:
    if not sample.tags:
        return ""
    pairs = (f'{re.sub(r"[^a-zA-Z0-9_]", "_", tag)}="{value.translate(_ESCAPES)}"' for tag, value in sample.tags)
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    """As Go prints it, which is what readers expect of the three that are no numbers."""
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
