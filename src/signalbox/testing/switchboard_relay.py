"""One relayed connection: bytes of the caller go to the target and back, held or delayed as the line is set."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from signalbox.testing.switchboard_rewrite import RewritingSession
from signalbox.testing.wire.rule_session import RuleSession, Step

if TYPE_CHECKING:
    from signalbox.testing.switchboard_line import CutLimit, Line, LineTls

CERTIFIED_HOST = "localhost"
_HIGH_WATER_BYTES = 1 << 20
_LINGER_ZERO = struct.pack("ii", 1, 0)  # closing is a TCP reset


class _Direction:
    """Chunks on their way to one side, in order, each with its own due time."""

    def __init__(self, line: Line, is_answer: bool, on_limit: Callable[[], None]) -> None:
        self._line = line
        self._is_answer = is_answer
        self._on_limit = on_limit
        self._limit: CutLimit | None = None
        self._left_bytes = 0
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[tuple[float, bytes]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.to: asyncio.Transport | None = None
        self.ended = False

    def put(self, chunk: bytes, extra_seconds: float = 0.0) -> None:
        """Adds a chunk; an empty chunk is the end of the stream."""
        delay_seconds = self._line.delay_seconds + extra_seconds
        if not self._chunks and self.to is not None and not delay_seconds and not self._is_held():
            self._pass_on(chunk)
            return
        self._chunks.append((self._loop.time() + delay_seconds, chunk))
        self.flow()

    def flow(self) -> None:
        """Passes on the chunks that are due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._chunks and self.to is not None and not self._is_held():
            due, chunk = self._chunks[0]
            if due > self._loop.time():
                self._timer = self._loop.call_at(due, self.flow)
                return
            self._chunks.popleft()
            self._pass_on(chunk)

    def _is_held(self) -> bool:
        return self._line.holds(self._is_answer)

    def _pass_on(self, chunk: bytes) -> None:
        assert self.to is not None
        if self.to.is_closing():
            return  # the other side is closed
        limit = self._line.cut_limit
        if chunk and limit is not None and limit.of_responses is self._is_answer:
            self._pass_up_to(limit, chunk)
        elif chunk:
            self.to.write(chunk)
        else:
            self.ended = True
            self.to.close()

    def _pass_up_to(self, limit: CutLimit, chunk: bytes) -> None:
        assert self.to is not None
        if self._limit is not limit:
            self._limit, self._left_bytes = limit, limit.size_bytes
        self.to.write(chunk[: self._left_bytes])
        self._left_bytes -= len(chunk)
        if self._left_bytes <= 0:
            self._on_limit()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._chunks.clear()


class Relay(asyncio.Protocol):
    """The caller's side; it opens the other side when the caller has connected."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._rules = RuleSession(line.name, line.rules) if line.rules is not None and line.reads else None
        self._tls = line.tls if line.reads else None
        rewrite = line.rewrite if self._rules is None else None
        self._session = RewritingSession(rewrite) if rewrite is not None else None
        self._caller: asyncio.Transport | None = None
        self._target: asyncio.Transport | None = None
        self._to_target = _Direction(line, False, self.close)
        self._to_caller = _Direction(line, True, self.close)
        self._connecting: asyncio.Task[None] | None = None
        self._abandoned = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._caller = transport
        transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        self._to_caller.to = transport
        self._line.relays.add(self)
        if self._line.resets:
            self.reset()
            return
        if self._tls is not None:
            transport.pause_reading()  # what has arrived is for the TLS handshake
        self._connecting = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        address = self._line.next_target()
        if address is None:
            self.cut()
            return
        loop = asyncio.get_running_loop()
        tls = self._tls
        try:
            if tls is not None:
                await self._accept_tls(tls)
            transport, _ = await loop.create_connection(
                lambda: _TargetSide(self),
                *address,
                ssl=tls.to_target if tls is not None else None,
                server_hostname=CERTIFIED_HOST if tls is not None else None,
            )
        except OSError:  # ssl.SSLError is one
            self.cut()
            return
        transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        self._target = transport
        self._to_target.to = transport
        self._to_target.flow()

    async def _accept_tls(self, tls: LineTls) -> None:
        """Continues with the caller behind TLS. OSError."""
        assert self._caller is not None
        loop = asyncio.get_running_loop()
        secured = await loop.start_tls(self._caller, self, tls.to_caller, server_side=True)
        if secured is None:
            raise ConnectionAbortedError("the caller has gone during the TLS handshake")
        self._caller = self._to_caller.to = secured

    def data_received(self, data: bytes) -> None:
        if self._abandoned:
            return
        if self._rules is not None:
            self._take(self._rules.requests(data, self._line.rewrite))
            return
        chunk = self._session.requests(data) if self._session is not None else data
        if chunk:  # an empty chunk would be the end of the stream
            self._to_target.put(chunk)

    def eof_received(self) -> bool:
        self._to_target.put(b"")
        return self.stays_half_open

    @property
    def stays_half_open(self) -> bool:
        """Whether a side that has sent its last byte can still receive: not with TLS."""
        return self._tls is None

    def connection_lost(self, error: Exception | None) -> None:
        self.cut()

    def pause_writing(self) -> None:
        if self._target is not None:
            self._target.pause_reading()

    def resume_writing(self) -> None:
        if self._target is not None and not self._target.is_closing():
            self._target.resume_reading()

    def on_target_data(self, data: bytes) -> None:
        """Bytes of the target, b"" at the end of its stream."""
        if self._abandoned:
            return
        if self._rules is not None and data:
            self._take(self._rules.responses(data))
            return
        chunk = self._session.responses(data) if self._session is not None and data else data
        if chunk or not data:
            self._to_caller.put(chunk)

    def on_target_lost(self) -> None:
        """The connection to the target has failed."""
        if not self._abandoned:
            self.cut()

    def _take(self, step: Step) -> None:
        if step.to_target:
            self._to_target.put(bytes(step.to_target))
        for response, delay_seconds in step.to_caller:
            self._to_caller.put(response, delay_seconds)
        if step.cut:
            self.close()

    def throttle_caller(self, throttled: bool) -> None:
        if self._caller is None or self._caller.is_closing():
            return
        if throttled:
            self._caller.pause_reading()
        else:
            self._caller.resume_reading()

    def release(self) -> None:
        """Called when the line no longer holds bytes back."""
        self._to_target.flow()
        self._to_caller.flow()

    def reset(self) -> None:
        """Closes both sides at once, that of the caller with a TCP reset."""
        if self._caller is not None and not self._caller.is_closing():
            self._caller.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        self.cut()

    def abandon(self) -> None:
        """Closes the side of the target only: the caller's stays open, and nothing passes any more."""
        self._abandoned = True
        self._close_target()

    def _close_target(self) -> None:
        if self._connecting is not None and not self._connecting.done():
            self._connecting.cancel()
        for direction in (self._to_target, self._to_caller):
            direction.stop()
        if self._target is not None:
            self._target.abort()

    def cut(self) -> None:
        """Closes both sides at once."""
        self._line.relays.discard(self)
        self._close_target()
        if self._caller is not None:
            self._caller.abort()

    def close(self) -> None:
        """Ends both sides; bytes that were passed on arrive before the end."""
        if self._connecting is not None and not self._connecting.done():
            self._connecting.cancel()
        for direction in (self._to_target, self._to_caller):
            direction.stop()
        for transport in (self._caller, self._target):
            if transport is not None:
                transport.close()


class _TargetSide(asyncio.Protocol):
    """The side that connects to the target."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def data_received(self, data: bytes) -> None:
        self._relay.on_target_data(data)

    def eof_received(self) -> bool:
        self._relay.on_target_data(b"")
        return self._relay.stays_half_open

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self._relay.on_target_lost()
        else:
            self._relay.on_target_data(b"")  # a caller that has ended its stream is still open

    def pause_writing(self) -> None:
        self._relay.throttle_caller(True)

    def resume_writing(self) -> None:
        self._relay.throttle_caller(False)
