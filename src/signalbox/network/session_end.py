"""When a connection's SASL session ends, and when it may be renewed (KIP-368)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from signalbox.common.clock import Clock

_RENEWAL_INTERVAL_S = 1.0  # as in Kafka: a client cannot keep us busy with it


class SessionEnd:
    """`ended` is true from the session's end until a renewal begins; `on_end` is called then."""

    def __init__(self, clock: Clock, on_end: Callable[[], None]) -> None:
        self._clock = clock
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self._renewal_began: float | None = None
        self._ends = False
        self.ended = False

    def lasts(self, lifetime_ms: int | None) -> None:
        """A session begins now; None for one without an end. One that has none left is over before the next request,
        which a timer that is due would not see to: what has come in is served before it."""
        self.forget()
        self._ends, self.ended = lifetime_ms is not None, False
        if lifetime_ms is None:
            return
        if lifetime_ms > 0:
            self._timer = asyncio.get_running_loop().call_later(lifetime_ms / 1000, self._end)
        else:
            self._end()

    def begin_renewal(self) -> bool:
        """Whether the session may be renewed now; then it has begun to be."""
        now = self._clock.monotonic()
        often = self._renewal_began is not None and now - self._renewal_began < _RENEWAL_INTERVAL_S
        if not self._ends or often:
            return False
        self._renewal_began = now
        self.forget()  # what is being renewed does not end meanwhile
        self.ended = False
        return True

    @property
    def renewal_ms(self) -> float:
        """How long the renewal under way has taken so far."""
        return 0.0 if self._renewal_began is None else (self._clock.monotonic() - self._renewal_began) * 1000

    def forget(self) -> None:
        """The connection is closed."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.ended = True
        self._on_end()
