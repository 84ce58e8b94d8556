"""The expiry of a connection's SASL session, and the time when it may be renewed (KIP-368)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from signalbox.common.clock import Clock

_RENEWAL_INTERVAL_S = 1.0  # as in Kafka: a client cannot keep the broker busy with renewals


class SessionEnd:
    """`ended` is true from the session's end until a renewal begins; `on_end` is called at the session's end."""

    def __init__(self, clock: Clock, on_end: Callable[[], None]) -> None:
        self._clock = clock
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self._renewal_began: float | None = None
        self._ends = False
        self.ended = False

    def start(self, lifetime_ms: int | None) -> None:
        """A session begins now; `lifetime_ms` is None for one without an end. A session without time left ends at once:
        a timer would fire too late, after the requests that have arrived already."""
        self.cancel()
        self._ends, self.ended = lifetime_ms is not None, False
        if lifetime_ms is None:
            return
        if lifetime_ms > 0:
            self._timer = asyncio.get_running_loop().call_later(lifetime_ms / 1000, self._end)
        else:
            self._end()

    def shorten(self, lifetime_ms: int) -> None:
        """A session that expires later than `lifetime_ms` from now expires then."""
        loop = asyncio.get_running_loop()
        running = self._timer is not None and not self._timer.cancelled() and not self.ended
        if running and self._timer is not None and self._timer.when() > loop.time() + lifetime_ms / 1000:
            self.start(max(0, lifetime_ms))

    def begin_renewal(self) -> bool:
        """Whether the session may be renewed now; if so, the renewal has begun."""
        now = self._clock.monotonic()
        is_too_soon = self._renewal_began is not None and now - self._renewal_began < _RENEWAL_INTERVAL_S
        if not self._ends or is_too_soon:
            return False
        self._renewal_began = now
        self.cancel()  # the session does not expire during the renewal
        self.ended = False
        return True

    @property
    def renewal_ms(self) -> float:
        """The time since the last renewal began; 0 before the first."""
        return 0.0 if self._renewal_began is None else (self._clock.monotonic() - self._renewal_began) * 1000

    def cancel(self) -> None:
        """Cancel the timer; also called when the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.ended = True
        self._on_end()
