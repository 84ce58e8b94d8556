"""The interface that both kinds of channel share: length-prefixed frames in, length-prefixed frames out.

A channel owns one socket. Frames go up through `on_frame`, one at a time and in order; `mute()` stops them until
`unmute()`. `on_frame(frame, buffer)`: `frame` is a memoryview without the 4-byte size. With `buffer` None the memory
is the loop's shared one and is valid only during the call; otherwise the frame lies in `buffer`, which now belongs
to the receiver (give it back with `release_buffer`, or drop it).
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


class FrameChannel(Protocol):
    """What network and client see of a connection's bytes."""

    on_frame: FrameCallback
    on_ready: OpenCallback  # frames can flow: the connection stands, TLS included
    on_closed: ClosedCallback
    fault: str  # "frame_size" or a word of `tls_failure.py` when the peer's own fault closed it, else ""
    stalled_since: float | None  # monotonic seconds since when the peer takes nothing of what is queued
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
        """The verified certificate of a TLS peer in DER; None without one."""
        ...

    @property
    def muted(self) -> bool: ...

    @property
    def queued_bytes(self) -> int:
        """Bytes accepted by `send_frame` that the socket has not taken yet."""
        ...

    @property
    def closed(self) -> bool: ...

    def send_frame(self, chunks: Sequence[Chunk]) -> None:
        """Queue one frame made of `chunks`, without the size prefix; it leaves at the end of the turn."""
        ...

    def send_whole(self, frame: bytes) -> None:
        """Queue or send one frame that already begins with its size."""
        ...

    def send_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        """The same in three pieces; `head` begins with the size of the whole."""
        ...

    def mute(self) -> None: ...

    def unmute(self) -> None: ...

    def release_buffer(self, buffer: PooledBuffer) -> None: ...

    def close(self, reason: str) -> None:
        """Drop what is queued and close now. `on_closed` is called once, with the reason."""
        ...

    def close_after_flush(self, reason: str) -> None:
        """Read no more; close when everything queued has left."""
        ...
