"""The metrics page: one page behind the port, however many clients connect and however slow they are."""

from __future__ import annotations

import asyncio
import logging
import socket
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.common.limits import MAX_METRICS_CONNECTIONS
from signalbox.common.metrics import MetricName
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.server.metrics.metrics_page import MetricsPage
from signalbox.testing.cluster import Cluster
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.descriptors import none_left
from tests.server.metrics.test_metrics_text import parsed
from tests.waiting import until_true


async def exchange(page: MetricsPage, request: bytes) -> bytes:
    port = await page.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer
    finally:
        await page.stop()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /metrics?name[]=a HTTP/1.1\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", b"HTTP/1.1 404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /metrics", b""),
        (b"GET \r\n\r\n", b"HTTP/1.1 404"),
        (b"\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", b""),
    ],
)
def test_requests(request_: bytes, status: bytes) -> None:
    answer = asyncio.run(exchange(MetricsPage(MetricRegistry(), "127.0.0.1", 0, ImmediateScheduler()), request_))
    assert answer.startswith(status)
    assert bool(answer) == bool(status)


@pytest.mark.parametrize("sent", [bytes.fromhex("0000001c00120003"), bytes.fromhex("160301")])
def test_a_client_of_another_protocol_is_answered_at_once(sent: bytes) -> None:
    """It sends no more before it has an answer, and would wait for the ten seconds of a request."""

    async def answered() -> bytes:
        page = MetricsPage(MetricRegistry(), "127.0.0.1", 0, ImmediateScheduler())
        port = await page.start()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            line = await reader.readline()
            writer.close()
            return line
        finally:
            await page.stop()

    assert asyncio.run(answered()) == b"HTTP/1.1 400 Bad Request\r\n"


def rejected_start(host: str, port: int) -> ConfigFault:
    page = MetricsPage(MetricRegistry(), host, port, ImmediateScheduler())
    with pytest.raises(StartError) as rejected:
        asyncio.run(page.start())
    asyncio.run(page.stop())  # a stop after a failed start is safe
    (fault,) = rejected.value.faults
    return fault


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fault = rejected_start("127.0.0.1", port)
    assert (fault.key, fault.entry) == ("signalbox.metrics.http.port", str(port))
    assert fault.problem == "cannot be bound on 127.0.0.1: Address already in use"


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "a..b"])
def test_a_host_that_is_not_ours_is_named(host: str) -> None:
    fault = rejected_start(host, 0)
    assert (fault.key, fault.entry) == ("signalbox.metrics.http.host", host)
    assert fault.problem.startswith("cannot be bound with port 0: ")


def test_a_broker_that_serves(cluster: Cluster) -> None:
    url = str(cluster.nodes[1].describe()["metrics"])
    text = urllib.request.urlopen(url, timeout=5).read().decode()
    found = parsed(text)
    assert ("kafka_controller_kafkacontroller_activecontrollercount", ()) in found
    assert found["kafka_controller_kafkacontroller_offlinepartitionscount", ()] == 0
    assert text.count("# TYPE kafka_controller_kafkacontroller_activecontrollercount ") == 1


def test_one_of_three_is_the_active_controller_and_counts(cluster: Cluster) -> None:
    name = "kafka_controller_kafkacontroller_"
    pages = [
        parsed(urllib.request.urlopen(str(node.describe()["metrics"]), timeout=5).read().decode())
        for node in cluster.nodes.values()
    ]
    assert sorted(page[f"{name}activecontrollercount", ()] for page in pages) == [0, 0, 1]
    assert sorted(page[f"{name}activebrokercount", ()] for page in pages) == [0, 0, 3]


class Held(ImmediateScheduler):
    """A scheduler whose pages are written when the test runs their work."""

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Callable[[], object]] = []

    def run(self, work: Callable[[], object], again: bool = False) -> None:
        self.work.append(work)


GET = b"GET /metrics HTTP/1.1\r\n\r\n"


def open_connections(port: int) -> int:
    """Connections to a local port that the server has not closed, from the kernel's table. The number of the process's
    descriptors is less exact: other tests leave some to the garbage collector."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening, established = "0A", "01"
    mine = [row for row in rows if int(row[1].rpartition(":")[2], 16) == port and row[3] != listening]
    return sum(row[3] == established or row[9] != "0" for row in mine)


@asynccontextmanager
async def served(scheduler: TaskScheduler, registry: MetricRegistry | None = None) -> AsyncIterator[int]:
    """The port of a running page."""
    page = MetricsPage(registry or MetricRegistry(), "127.0.0.1", 0, scheduler)
    try:
        yield await page.start()
    finally:
        await page.stop()


def test_idle_connections_are_limited_and_the_oldest_is_closed() -> None:
    """Far more connections than the limit: the oldest are closed, and a scraper gets its response."""

    async def main() -> None:
        async with served(ImmediateScheduler()) as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4 * MAX_METRICS_CONNECTIONS)]
            assert (await asked(port, GET)).startswith(b"HTTP/1.1 200")
            assert await idle[0][0].read() == b"", "the oldest one was closed"
            await until_true(lambda: open_connections(port) <= MAX_METRICS_CONNECTIONS)
            for _, writer in idle:
                writer.close()

    asyncio.run(main())


async def asked(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def test_those_who_wait_for_their_page_are_not_closed_and_get_the_same_one() -> None:
    async def main() -> None:
        scheduler = Held()
        async with served(scheduler) as port:
            scrapers = []
            for _ in range(MAX_METRICS_CONNECTIONS):
                scrapers.append(await asyncio.open_connection("127.0.0.1", port))
                scrapers[-1][1].write(GET)
            await until_true(lambda: open_connections(port) == len(scrapers) and scheduler.work != [])
            for _ in range(100):  # iterations of the event loop, in which all connections are accepted and read
                await asyncio.sleep(0)
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            late = asyncio.create_task(asked(port, GET))
            scheduler.work.pop()()
            for reader, writer in scrapers:
                assert (await reader.read()).startswith(b"HTTP/1.1 200")
                writer.close()
            await until_true(lambda: bool(scheduler.work))
            assert not late.done(), "its page is written after it has asked"
            scheduler.work.pop()()
            assert (await late).startswith(b"HTTP/1.1 200")
            assert not scheduler.work
            for _, writer in idle:
                writer.close()

    asyncio.run(main())


@pytest.mark.parametrize("request_", [b"", b"GET /metrics", GET])
def test_none_stays_for_ever(request_: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a connection that sends nothing, nor half a request, nor one that does not read the page."""
    monkeypatch.setattr("signalbox.server.metrics.metrics_page._REQUEST_TIMEOUT_S", 0.1)
    monkeypatch.setattr("signalbox.server.metrics.metrics_page._TIMEOUT_S", 0.2)

    async def main() -> None:
        registry = MetricRegistry()
        for number in range(100):  # more than the socket buffers take
            registry.gauge(MetricName("a", "b", "c"), lambda: 1.0, {"tag": f"{number} " + "x" * 100_000})
        async with served(ImmediateScheduler(), registry) as port:
            with socket.create_connection(("127.0.0.1", port)) as slow:
                slow.sendall(request_)
                assert open_connections(port) == 1
                await until_true(lambda: open_connections(port) == 0)

    asyncio.run(main())


def test_without_descriptors_new_connections_wait_and_the_log_is_not_flooded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        async with served(ImmediateScheduler()) as port:
            waiting = socket.create_connection(("127.0.0.1", port))
            waiting.sendall(GET)
            with none_left():
                await until_true(lambda: "Connections of brokers wait" in caplog.text)
                await asyncio.sleep(0.2)
                # Other code in this process may free a descriptor meanwhile: that is logged, too.
                lines = [
                    record.levelno
                    for record in caplog.records
                    if record.name == "signalbox.network.acceptors.descriptors"
                ]
            assert lines.count(logging.WARNING) - lines.count(logging.INFO) in (0, 1)
            waiting.setblocking(False)
            assert (await asyncio.get_running_loop().sock_recv(waiting, 100)).startswith(b"HTTP/1.1 200")
            waiting.close()

    asyncio.run(main())


def test_every_address_of_a_host_has_the_page() -> None:
    async def main() -> None:
        page = MetricsPage(MetricRegistry(), "localhost", 0, ImmediateScheduler())
        port = await page.start()
        for host in {row[4][0] for row in socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)}:
            reader, writer = await asyncio.open_connection(str(host), port)
            writer.write(GET)
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
            writer.close()
        await page.stop()

    asyncio.run(main())
