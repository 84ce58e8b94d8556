"""The receiving half of every channel: when frames may be delivered. It is independent of the source of the bytes.

There are two reasons to stop. The *owner* mutes a channel while one of its requests is being handled; the channel
*holds* while more than `PAUSE_READING_BYTES` of responses wait for a peer that does not read. Bytes that were received
meanwhile are delivered first, in an iteration of their own, before the socket is read again. A peer that sends many
requests at once yields to other connections in the same way.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from signalbox.transport.frame_channel import ClosedCallback, FrameCallback, OpenCallback, unset
from signalbox.transport.frame_reader import FrameReader, FrameSizeError

NO_ADDRESS = ("", 0)
log = logging.getLogger("signalbox.transport")


class FrameInput(ABC):
    """The base of the channels. `fault` is what the peer did wrong, "" if nothing."""

    __slots__ = (
        "_closing", "_held", "_owner_muted", "_reader", "_resuming", "closed", "fault", "on_closed", "on_ready",
        "peer_address",
    )  # fmt: skip

    def __init__(self, reader: FrameReader, peer_address: tuple[str, int] = NO_ADDRESS) -> None:
        self._reader = reader
        self._owner_muted = False
        self._held = False
        self._resuming = False  # the backlog will be delivered in a later iteration
        self._closing: str | None = None
        self.closed = False
        self.fault = ""
        self.peer_address = peer_address
        self.on_ready: OpenCallback = unset
        self.on_closed: ClosedCallback = unset

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
        """Deliver no frame, even if the owner unmutes, until what is queued is sent."""
        self._reader.muted = self._held = True
        self._resuming = False

    def release_hold(self) -> None:
        """What was queued is sent."""
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
        self._resume_reading()

    def _defer_backlog(self) -> None:
        """Deliver the rest of what was received in another iteration."""
        if not self._reader.muted and not self.closed:
            self._reader.muted = self._resuming = True
            self._run_soon(self._resume)

    def _has_input(self) -> bool:
        """Whether received bytes wait above the socket."""
        return self._reader.backlog is not None

    def _deliver_backlog(self) -> None:
        """Deliver the bytes that wait above the socket."""
        self._reader.resume()

    def _resume(self) -> None:
        if self.closed or not self._resuming:
            return
        self._resuming = False
        self._reader.muted = False
        try:
            self._deliver_backlog()
        except FrameSizeError as error:
            self._reject_frame(error)
        except Exception as error:
            self._fail(error)
        if self._reader.backlog is not None:
            self._defer_backlog()
        if not self.closed and not self._reader.muted:
            self._resume_reading()

    def _reject_frame(self, error: FrameSizeError) -> None:
        self.fault = error.fault
        self.close_after_flush(str(error))

    def _fail(self, error: Exception) -> None:
        """A bug in the layers above: close this connection, keep the loop."""
        log.error("Unexpected error, connection of %s is closed", self.peer_address, exc_info=error)
        self.close(f"internal error: {error!r}")

    def _notify_closed(self, reason: str) -> None:
        """Call `on_closed`, and drop the references between the channel and its owner, so that a closed connection is
        freed at once and not by the next garbage collection of cycles, which may be much later."""
        self.on_ready = unset
        on_closed, self.on_closed = self.on_closed, unset
        self._reader.on_frame = unset
        on_closed(reason)

    @abstractmethod
    def close(self, reason: str) -> None: ...

    @abstractmethod
    def close_after_flush(self, reason: str) -> None: ...

    @abstractmethod
    def _run_soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` in an iteration of its own."""

    @abstractmethod
    def _resume_reading(self) -> None:
        """Read from the socket again, if reading was stopped."""
