"""The interface of all kinds of channel: length-prefixed frames in, length-prefixed frames out.

A channel owns one socket. It delivers frames to `on_frame`, one at a time and in order; `mute()` stops that until
`unmute()`. `on_frame(frame, buffer)`: `frame` is a memoryview without the 4-byte size. If `buffer` is None, the memory
is the loop's shared one and is valid only during the call. Otherwise the frame is in `buffer`, which now belongs to the
receiver (return it with `release_buffer`, or drop it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from signalbox.common.file_slice import FileSlice
from signalbox.transport.buffer_pool import PooledBuffer

Chunk = bytes | bytearray | memoryview | FileSlice
FrameCallback = Callable[[memoryview, PooledBuffer | None], None]
ClosedCallback = Callable[[str], None]
OpenCallback = Callable[[], None]

PEER_CLOSED = "the peer closed the connection"


def unset(*_: object) -> None:
    """A callback of a channel until its owner has set one, and again when the channel is closed."""


class FrameChannel(Protocol):
    """A connection's frames, for the packages network and client."""

    on_frame: FrameCallback
    on_ready: OpenCallback  # frames can be sent and received: the connection is established, TLS included
    on_closed: ClosedCallback
    fault: str  # "frame_size" or a constant of `tls_failure.py` if the peer's own fault closed the channel, else ""
    stalled_since: float | None  # monotonic seconds since when the peer has accepted nothing of what is queued
    max_frame_bytes: int
    active_at: float  # monotonic seconds of the last byte in or out
    bytes_in: int
    bytes_out: int

    @property
    def peer_address(self) -> tuple[str, int]: ...

    @property
    def local_address(self) -> tuple[str, int]: ...

    @property
    def peer_certificate(self) -> bytes | None:
        """The verified certificate of a TLS peer in DER; None if there is none."""
        ...

    @property
    def muted(self) -> bool: ...

    @property
    def queued_bytes(self) -> int:
        """Bytes passed to `send_frame` that the socket has not accepted yet."""
        ...

    @property
    def closed(self) -> bool: ...

    def send_frame(self, chunks: Sequence[Chunk]) -> None:
        """Queue one frame made of `chunks`, without the size prefix; it is sent at the end of the iteration."""
        ...

    def send_framed(self, frame: bytes) -> None:
        """Queue or send one frame that already begins with its size."""
        ...

    def send_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        """The same in three pieces; `head` begins with the size of the complete frame."""
        ...

    def mute(self) -> None: ...

    def unmute(self) -> None: ...

    def release_buffer(self, buffer: PooledBuffer) -> None: ...

    def carry_replication(self) -> None:
        """The peer is a replica fetcher: in the data loop its requests have the share of replication."""
        ...

    def close(self, reason: str) -> None:
        """Drop what is queued and close now. `on_closed` is called once, with the reason."""
        ...

    def close_after_flush(self, reason: str) -> None:
        """Read no more; close when everything queued is sent."""
        ...
