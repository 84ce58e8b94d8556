"""Closes connections that are idle or stalled, or whose setup did not finish in time.

One sweep per second over all connections, a bounded number per step, so that ten thousand of them do not block the
loop. A connection with a request in progress is not idle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from signalbox.common.clock import Clock
from signalbox.network.connection import Connection

_SWEEP_SECONDS = 1.0
_PER_STEP = 256


@dataclass(frozen=True, slots=True)
class ExpiryLimits:
    """Timeouts in seconds; `idle` is None for no timeout."""

    idle: float | None
    stall: float
    setup: float


def expiry_reason(connection: Connection, now: float, limits: ExpiryLimits) -> str | None:
    """Why `connection` must be closed now, or None."""
    channel = connection.channel
    if channel.stalled_since is not None and now - channel.stalled_since > limits.stall:
        return f"the peer accepted no bytes for {limits.stall:g} s (signalbox.connection.write.stall.timeout.ms)"
    if not connection.established and now - connection.opened_at > limits.setup:
        missing = "no end of the TLS handshake" if connection.authentication is None else "not authenticated"
        return f"{missing} after {limits.setup:g} s (signalbox.connection.setup.timeout.ms)"
    if limits.idle is not None and not connection.busy and now - channel.active_at > limits.idle:
        return f"idle for more than {limits.idle:g} s (connections.max.idle.ms)"
    return None


class IdleExpiry:
    """`connections()` returns all connections of the server; `on_sweep()` is called before each sweep."""

    def __init__(
        self,
        connections: Callable[[], Iterable[Connection]],
        limits: ExpiryLimits,
        clock: Clock,
        on_sweep: Callable[[], None],
    ) -> None:
        self._connections = connections
        self._limits = limits
        self._clock = clock
        self._on_sweep = on_sweep
        self._handle: asyncio.TimerHandle | None = None
        self._unchecked: Iterator[Connection] = iter(())

    def start(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _sweep(self) -> None:
        self._on_sweep()
        self._unchecked = iter(list(self._connections()))
        self._step()

    def _step(self) -> None:
        now = self._clock.monotonic()
        for _ in range(_PER_STEP):
            connection = next(self._unchecked, None)
            if connection is None:
                self.start()
                return
            reason = None if connection.channel.closed else expiry_reason(connection, now, self._limits)
            if reason is not None:
                connection.listener.plane.timed_out_connections += 1
                if not connection.established:
                    connection.note_rejection("setup_timeout", reason, None)
                    if connection.authentication is None or not connection.authentication.failed:
                        connection.listener.authentications.failed.add()
                connection.close(reason)
        self._handle = asyncio.get_running_loop().call_later(0, self._step)
