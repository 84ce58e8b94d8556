"""The switchboard for code without an event loop: it runs in a thread of its own, every call waits until it is done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_line import Line, Target
from signalbox.testing.switchboard_rewrite import WireRewrite
from signalbox.testing.wire.request_rule import LineRules

Result = TypeVar("Result")


class SwitchboardThread:
    """`with SwitchboardThread() as board:`; the methods are Switchboard's."""

    def __init__(self, board: Switchboard | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="switchboard", daemon=True)
        self._board = board or Switchboard()

    def reach_brokers_at(self, kit_bootstrap: str) -> None:
        """Sets `kit_bootstrap`."""
        self._board.kit_bootstrap = kit_bootstrap

    def __enter__(self) -> SwitchboardThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._board.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def execute(self, work: Callable[[Switchboard], Coroutine[Any, Any, Result]]) -> Result:
        """The result of `work`, which gets the switchboard in its event loop."""
        return self._wait(work(self._board))

    def _call(self, function: Callable[[], Result]) -> Result:
        async def in_loop() -> Result:
            return function()

        return self._wait(in_loop())

    def add_line(
        self, name: str, target: Target | None = None, port: int = 0, rules: LineRules | None = None
    ) -> Target:
        return self._wait(self._board.add_line(name, target, port, rules))

    def line(self, name: str) -> Line:
        return self._board.line(name)

    def set_home(self, name: str, target: Target) -> None:
        self._call(lambda: self._board.set_home(name, target))

    def rewire(self, name: str, *targets: Target) -> None:
        self._call(lambda: self._board.rewire(name, *targets))

    def rewire_after(self, name: str, connections: int, *targets: Target) -> None:
        self._call(lambda: self._board.rewire_after(name, connections, *targets))

    def rewrite(self, name: str, rewrite: WireRewrite | None) -> None:
        self._call(lambda: self._board.rewrite(name, rewrite))

    def swap(self, one: str, other: str, *, sever: bool = True) -> None:
        self._call(lambda: self._board.swap(one, other, sever=sever))

    def sever(self, *names: str) -> None:
        self._call(lambda: self._board.sever(*names))

    def blackhole(self, name: str) -> None:
        self._call(lambda: self._board.blackhole(name))

    def mute(self, name: str) -> None:
        self._call(lambda: self._board.mute(name))

    def delay(self, name: str, delay_ms: float) -> None:
        self._call(lambda: self._board.delay(name, delay_ms))

    def refuse_connections(self, name: str) -> None:
        self._wait(self._board.refuse_connections(name))

    def restore(self, *names: str) -> None:
        self._wait(self._board.restore(*names))
