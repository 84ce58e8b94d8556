"""The client that causes a log line."""

from __future__ import annotations

import asyncio

from signalbox.common.cooperative_task import CooperativeTask, yield_if_due
from signalbox.common.log_source import CLIENT_CAUSED, LogSource, current_source, is_client_caused


def test_a_source_ends_with_its_block() -> None:
    assert current_source() == ""
    with LogSource("10.0.0.1"):
        assert current_source() == "10.0.0.1"
    assert current_source() == ""
    assert is_client_caused(CLIENT_CAUSED)
    assert not is_client_caused({})


def test_a_task_that_a_request_created_is_the_nodes_after_the_request() -> None:
    async def look(go_on: asyncio.Event) -> list[str]:
        sources = [current_source()]
        await go_on.wait()
        return [*sources, current_source()]

    async def run() -> list[str]:
        go_on = asyncio.Event()
        with LogSource("10.0.0.1"):
            task = asyncio.create_task(look(go_on))
            await asyncio.sleep(0)
        go_on.set()
        return await task

    assert asyncio.run(run()) == ["10.0.0.1", ""]


def test_a_cooperative_task_keeps_its_source_to_itself() -> None:
    sources = list[str]()

    def work() -> None:
        with LogSource("10.0.0.1"):
            yield_if_due()
            sources.append(current_source())

    task = CooperativeTask(work)
    task.switch()
    assert current_source() == ""
    task.switch()
    assert sources == ["10.0.0.1"]
