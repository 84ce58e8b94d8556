"""The little of an event loop that scheduling needs; asyncio's loop fits as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Alarm(Protocol):
    def cancel(self) -> None: ...

    def when(self) -> float: ...


class Loop(Protocol):
    def time(self) -> float:
        """Seconds on the loop's own clock."""
        ...

    def call_soon(self, callback: Callable[[], Any]) -> Any:
        """Call in the next turn."""
        ...

    def call_at(self, when: float, callback: Callable[[], Any]) -> Alarm:
        """Call when the loop's clock shows `when`."""
        ...


GetLoop = Callable[[], Loop]
