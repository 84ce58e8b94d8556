from __future__ import annotations

import asyncio
import json
import socket
import threading
import urllib.request

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.config.start_error import StartError
from signalbox.common.metrics import MetricName
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.server.metrics.health_pages import Health
from signalbox.server.metrics.metrics_page import MetricsPage
from signalbox.server.metrics.page_thread import PageThread
from tests.common.scheduling.schedulers import ImmediateScheduler

pytestmark = pytest.mark.spec("R9")


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as page:
        text: str = page.read().decode()
    return text


def test_health_responds_while_the_event_loop_is_busy() -> None:
    async def node() -> tuple[str, str]:
        health = Health(7, "C")
        pages = PageThread(MetricsPage(MetricRegistry(), "127.0.0.1", 0, ImmediateScheduler()), health)
        await pages.start()
        health.started()
        url, texts, over = pages.url.removesuffix("metrics"), list[str](), threading.Event()

        def read() -> None:
            texts.extend((get(f"{url}health"), get(f"{url}health")))
            over.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert over.wait(60), "the page waits for the loop"  # this is the loop's thread: nothing runs in it meanwhile
        reader.join()
        await pages.stop()
        return texts[0], texts[1]

    first, second = (json.loads(text) for text in asyncio.run(node()))
    assert (first["node_id"], first["cluster_id"], second["node_id"]) == (7, "C", 7)
    assert 0 < first["event_loop_silent_ms"] < second["event_loop_silent_ms"]


def test_metrics_are_rendered_in_the_loop_of_the_node() -> None:
    threads = list[str]()

    def here() -> float:
        threads.append(threading.current_thread().name)
        return 1.0

    async def node() -> str:
        registry = MetricRegistry()
        registry.gauge(MetricName("signalbox.server", "Pages", "Here"), here)
        scheduler = TaskScheduler(asyncio.get_running_loop())
        pages = PageThread(MetricsPage(registry, "127.0.0.1", 0, scheduler), Health(1, "C"))
        await pages.start()
        text = await asyncio.to_thread(get, pages.url)
        await pages.stop()
        await pages.stop()
        return text

    assert "signalbox_server_pages_here 1" in asyncio.run(node())
    assert threads == [threading.current_thread().name]


def test_a_port_in_use_is_an_error_of_the_start_and_leaves_no_thread() -> None:
    async def node(port: int) -> None:
        pages = PageThread(MetricsPage(MetricRegistry(), "127.0.0.1", port, ImmediateScheduler()), Health(1, "C"))
        with pytest.raises(StartError):
            await pages.start()
        await pages.stop()

    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(node(taken.getsockname()[1]))
    assert threading.active_count() == before
