"""The port to the event loop that scheduling needs; asyncio's loop implements it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Loop(Protocol):
    def time(self) -> float:
        """Seconds on the loop's own clock."""
        ...

    def call_soon(self, callback: Callable[[], Any]) -> Any:
        """Call in the next iteration of the loop."""
        ...


GetLoop = Callable[[], Loop]
