"""The receiving half that every channel has: when frames may be delivered, whatever the bytes come through.

Two have a say. The *owner* mutes a channel while one of its requests is in the house; the channel itself *holds* while
more than `PAUSE_READING_BYTES` of answers wait for a peer that does not read. What was received meanwhile is delivered
first, in a turn of its own, before the socket is read again. A peer that sends many requests at once gives way to the
others in the same manner.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from signalbox.transport.frame_channel import FrameCallback
from signalbox.transport.frame_reader import FrameReader, FrameSizeError

log = logging.getLogger("signalbox.transport")


class FrameInput(ABC):
    """The base of the channels. `fault` is what the peer did wrong, "" for nothing."""

    __slots__ = (
        "_closing", "_held", "_owner_muted", "_reader", "_resuming", "closed", "fault", "peer_address",
    )  # fmt: skip

    def __init__(self, reader: FrameReader, peer_address: tuple[str, int] = ("", 0)) -> None:
        self._reader = reader
        self._owner_muted = False
        self._held = False
        self._resuming = False  # the backlog waits for its turn
        self._closing: str | None = None
        self.closed = False
        self.fault = ""
        self.peer_address = peer_address

    @property
    def on_frame(self) -> FrameCallback:
        return self._reader.on_frame

    @on_frame.setter
    def on_frame(self, callback: FrameCallback) -> None:
        self._reader.on_frame = callback

    @property
    def max_frame_bytes(self) -> int:
        return self._reader.max_frame_bytes

    @max_frame_bytes.setter
    def max_frame_bytes(self, value: int) -> None:
        self._reader.max_frame_bytes = value

    @property
    def muted(self) -> bool:
        return self._reader.muted

    def mute(self) -> None:
        self._reader.muted = self._owner_muted = True
        self._resuming = False

    def hold(self) -> None:
        """Deliver no frame, whatever the owner says, until what is queued has left."""
        self._reader.muted = self._held = True
        self._resuming = False

    def let_go(self) -> None:
        """What is queued has left."""
        self._held = False
        if not self._owner_muted:
            self.unmute()

    def unmute(self) -> None:
        reader = self._reader
        self._owner_muted = False
        if not reader.muted or self._held or self._resuming or self.closed or self._closing is not None:
            return
        if self._has_input():
            # Stay muted until then: bytes that arrive meanwhile must not overtake the backlog.
            self._resuming = True
            self._run_soon(self._resume)
            return
        reader.muted = False
        self._read_on()

    def _give_way(self) -> None:
        """Deliver the rest of what was received in another turn."""
        if not self._reader.muted and not self.closed:
            self._reader.muted = self._resuming = True
            self._run_soon(self._resume)

    def _has_input(self) -> bool:
        """Whether received bytes wait above the socket."""
        return self._reader.backlog is not None

    def _continue(self) -> None:
        """Deliver what waits above the socket."""
        self._reader.resume()

    def _resume(self) -> None:
        if self.closed or not self._resuming:
            return
        self._resuming = False
        self._reader.muted = False
        try:
            self._continue()
        except FrameSizeError as error:
            self._refuse_frame(error)
        except Exception as error:
            self._break(error)
        if self._reader.backlog is not None:
            self._give_way()
        if not self.closed and not self._reader.muted:
            self._read_on()

    def _refuse_frame(self, error: FrameSizeError) -> None:
        self.fault = error.fault
        self.close_after_flush(str(error))

    def _break(self, error: Exception) -> None:
        """A bug above: it costs this connection, not the loop."""
        log.error("connection of %s failed", self.peer_address, exc_info=error)
        self.close(f"internal error: {error!r}")

    @abstractmethod
    def close(self, reason: str) -> None: ...

    @abstractmethod
    def close_after_flush(self, reason: str) -> None: ...

    @abstractmethod
    def _run_soon(self, callback: Callable[[], None]) -> None:
        """Call it in a turn of its own."""

    @abstractmethod
    def _read_on(self) -> None:
        """Read from the socket again, if that was stopped."""
