"""Controllers in real processes: killed, stopped and continued (SPEC F1, M3)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from signalbox.metadata.layout import TOPICS
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from tests.controller.cluster import ControllerNode, start_node

PROGRAM = Path(__file__).with_name("controller_process.py")


class OtherController:
    """A controller in another process."""

    def __init__(self, path: Path, session_timeout_ms: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(path), "1", str(session_timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._read_line() == "active"

    async def create(self, topic: str) -> str:
        """Makes it create a topic; returns the error's name."""
        assert self.process.stdin is not None
        self.process.stdin.write(topic + "\n")
        self.process.stdin.flush()
        return await asyncio.get_running_loop().run_in_executor(None, self._read_line)

    def _read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def other_controller(path: Path, session_timeout_ms: int) -> Iterator[OtherController]:
    other = OtherController(path, session_timeout_ms)
    try:
        yield other
    finally:
        other.process.kill()
        other.process.communicate()


def with_node(path: Path, scenario: Callable[[ControllerNode], Awaitable[None]]) -> None:
    """Runs a scenario with node 2 in this process."""

    async def run() -> None:
        node = await start_node(2, SqliteMetadataStore(path))
        try:
            async with asyncio.timeout(110):
                await scenario(node)
        finally:
            await node.controller.stop()
            await node.store.close()

    asyncio.run(run())


def test_sigkill_of_the_controller_loses_nothing_and_is_noticed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    with other_controller(path, session_timeout_ms=300_000) as other:

        async def scenario(node: ControllerNode) -> None:
            for number in range(5):
                assert await other.create(f"t{number}") == "NONE"
            other.process.kill()
            killed_at = time.monotonic()
            await node.until_active()
            assert time.monotonic() - killed_at < 60, "the session would have lasted 300 s"
            assert node.controller.context is not None
            assert set(node.controller.context.topics) == {f"t{number}" for number in range(5)}
            assert node.controller.context.controller_epoch == 2

        with_node(path, scenario)


def test_a_controller_that_slept_writes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "metadata.db"
    with other_controller(path, session_timeout_ms=600) as other:

        async def scenario(node: ControllerNode) -> None:
            assert await other.create("before") == "NONE"
            os.kill(other.process.pid, signal.SIGSTOP)
            await node.until_active()
            os.kill(other.process.pid, signal.SIGCONT)
            assert await other.create("late") == "NOT_CONTROLLER"
            assert await node.store.children(TOPICS) == ["before"]
            assert node.controller.is_active

        with_node(path, scenario)
