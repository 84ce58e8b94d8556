"""The sending half of a connection in the data loop, on top of `frame_input.py`.

A response is sent at once if nothing is queued before it. While several frames of one read are handled, the channel is
*corked*, and their responses are sent together at the end of the iteration. A failed send does not close the connection
inside the call: a full socket and a dead one look the same until the flush, which the loop calls.
"""

from __future__ import annotations

import logging
import os
import socket
from abc import abstractmethod
from collections.abc import Sequence

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import MAX_SEND_QUEUE_BYTES, PAUSE_READING_BYTES, SENDFILE_FROM_BYTES
from signalbox.transport.data_loop import READ, WRITE, DataLoop
from signalbox.transport.fair_scheduler import FairMember, TrafficClass
from signalbox.transport.frame_channel import Chunk
from signalbox.transport.frame_input import FrameInput
from signalbox.transport.frame_reader import FrameReader
from signalbox.transport.send_queue import SendQueue, read_slice
from signalbox.transport.socket_address import address_of

log = logging.getLogger("signalbox.transport")

LARGE_FRAME_BYTES = 131_072  # from this size on a frame is handled in slices of its own, and its channel is HEAVY
_READ_AND_JOIN_BYTES = 16_384  # up to here one read and one join are cheaper than the loop's staging memory


class ChannelOutput(FrameInput):
    """The base of `DataChannel`. `stalled_since`: monotonic seconds since when the peer has accepted no bytes.
    `traffic_class`: whose share of the loop's time it uses."""

    __slots__ = (
        "_corked", "_expects_large", "_flushing", "_interest", "_loop", "_queue", "_send", "_sends_large", "_sock",
        "active_at", "bytes_out", "fair", "stalled_since", "traffic_class",
    )  # fmt: skip

    def __init__(self, loop: DataLoop, sock: socket.socket, reader: FrameReader) -> None:
        super().__init__(reader, address_of(sock.getpeername()))
        self._loop = loop
        self._sock = sock
        self._send = sock.send
        self._queue = SendQueue(loop.staging, loop.page_cache)
        self._corked = False
        self._flushing = False
        self._interest = READ
        self._expects_large = False
        self._sends_large = False
        self.fair = FairMember()
        self.traffic_class = TrafficClass.LIGHT
        self.bytes_out = 0
        self.active_at = loop.now
        self.stalled_since: float | None = None

    @property
    def queued_bytes(self) -> int:
        return self._queue.size_bytes

    def send_frame(self, chunks: Sequence[Chunk]) -> None:
        if len(chunks) == 1 and type(chunks[0]) is bytes:
            self.send_framed(len(chunks[0]).to_bytes(4) + chunks[0])
            return
        size = sum(map(len, chunks))
        if size <= _READ_AND_JOIN_BYTES:
            try:
                pieces = [self._read_now(chunk) if type(chunk) is FileSlice else chunk for chunk in chunks]
                self.send_framed(b"".join((size.to_bytes(4), *pieces)))  # type: ignore[arg-type]
                return
            except OSError:
                log.debug("a file slice cannot be read now", exc_info=True)  # the flush finds the cause
        if not self.closed:
            self._queue.append(size.to_bytes(4), 4)
            self._enqueue(chunks, size)

    def _read_now(self, piece: FileSlice) -> bytes:
        if not self._loop.page_cache.is_resident(piece):
            raise BlockingIOError
        return read_slice(piece, piece.size)

    def send_framed(self, frame: bytes) -> None:
        """Send a frame that already begins with its size: at once if nothing is queued before it."""
        if self._queue.size_bytes or self._corked or self.closed:
            if not self.closed:
                self._enqueue((frame,), len(frame))
            return
        if self._sends_large or len(frame) >= LARGE_FRAME_BYTES:
            self._note_sent_size(len(frame))
        try:
            sent = self._send(frame)
        except OSError:
            sent = 0  # a full socket or a dead one: the flush finds out which, and closes outside of this call
        self.bytes_out += sent
        if sent < len(frame):
            self._queue.append(frame[sent:], len(frame) - sent)
            self._flush_soon()

    def send_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        """Send a frame with a file slice inside. `head` begins with the frame's size. Uses sendfile for large
        slices."""
        total = len(head) + records.size + len(tail)
        if self.closed:
            return
        if self._sends_large or total >= LARGE_FRAME_BYTES:
            self._note_sent_size(total)
        sent = 0
        if not (self._queue.size_bytes or self._corked):
            copies = records.size <= SENDFILE_FROM_BYTES
            sent = self._send_copy(head, records, tail) if copies else self._send_file(head, records, tail)
            self.bytes_out += sent
            if sent == total:
                return
        records_sent = sent - len(head)
        if 0 < records_sent < records.size:
            remaining_records = FileSlice(
                records.fd, records.position + records_sent, records.size - records_sent, records.owner
            )
            self._queue.extend((remaining_records, tail) if tail else (remaining_records,), total - sent)
            self._await_writable()  # the socket is full: another try in this iteration would only cost a call
            return
        self._queue.extend((head, records, tail) if tail else (head, records), total)
        self._queue.skip(sent)
        self._flush_soon()  # a full socket, a dead one, a truncated file: the flush finds out which

    def _send_copy(self, head: bytes, records: FileSlice, tail: bytes) -> int:
        """Send by way of the loop's staging memory, in one call; returns the number of bytes sent."""
        staging, begin = self._loop.staging, len(head)
        end = begin + records.size
        total = end + len(tail)
        staging[:begin] = head
        staging[end:total] = tail
        try:
            filled = os.preadv(records.fd, [staging[begin:end]], records.position, self._loop.page_cache.read_flags)
            return self._send(staging[:total]) if filled == records.size else 0
        except OSError:
            return 0

    def _send_file(self, head: bytes, records: FileSlice, tail: bytes) -> int:
        """Send without a copy, in two or three calls; returns the number of bytes sent."""
        sent = 0
        if not self._loop.page_cache.is_resident(records):
            return 0
        try:
            sent = self._send(head, socket.MSG_MORE)
            if sent == len(head):
                sent += os.sendfile(self._sock.fileno(), records.fd, records.position, records.size)
                if tail and sent == len(head) + records.size:
                    sent += self._send(tail)
        except OSError:
            return sent
        return sent

    def _enqueue(self, chunks: Sequence[Chunk], size_bytes: int) -> None:
        self._note_sent_size(size_bytes)
        self._queue.extend(chunks, size_bytes)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._queue.size_bytes > MAX_SEND_QUEUE_BYTES:
            self.close(f"more than {MAX_SEND_QUEUE_BYTES} bytes wait for a peer that does not read")
            return
        if self._queue.size_bytes > PAUSE_READING_BYTES:
            self.hold()
        if not self._flushing:
            self._flushing = True
            if self._sends_large and self.traffic_class is not TrafficClass.LIGHT:
                self._loop.run_as_member(self, self.traffic_class, self.flush)
            else:
                self._loop.flush_soon(self)

    def carry_replication(self) -> None:
        """The peer is a replica fetcher, or the leader that this node's fetcher reads from."""
        self._enter_class(TrafficClass.REPLICATION)

    def _note_sent_size(self, size_bytes: int) -> None:
        """A response of this size is sent: its size decides the class until the next one."""
        if self._sends_large is not (size_bytes >= LARGE_FRAME_BYTES):
            self._sends_large = not self._sends_large
            self._classify()

    def _note_expected_size(self, size_bytes: int) -> None:
        """A frame of this size is being received: as `_note_sent_size`."""
        if self._expects_large is not (size_bytes >= LARGE_FRAME_BYTES):
            self._expects_large = not self._expects_large
            self._classify()

    def _classify(self) -> None:
        if self.traffic_class is not TrafficClass.REPLICATION:
            self._enter_class(TrafficClass.HEAVY if self._expects_large or self._sends_large else TrafficClass.LIGHT)

    def _enter_class(self, traffic_class: TrafficClass) -> None:
        if traffic_class is not self.traffic_class:
            self.traffic_class = traffic_class
            if not self.closed:
                self._loop.reclassify(self._sock, traffic_class)

    @abstractmethod
    def on_events(self, events: int) -> None:
        """See `LoopMember`."""

    def close_after_flush(self, reason: str) -> None:
        if self.closed:
            return
        self.mute()
        self._closing = reason
        self.flush()

    def flush(self) -> None:
        """Send what is queued. The loop calls it at the end of an iteration and when the socket is writable again."""
        self._flushing = False
        queue = self._queue
        if self.closed or queue.uncached is not None:
            return
        try:
            count = queue.flush(self._sock)
        except OSError as error:
            self.close(f"sending failed: {error}")
            return
        if queue.uncached is not None:
            self._await_disk(count, queue.uncached)
        else:
            self._after_flush(count, queue.size_bytes)

    def _await_disk(self, count: int, piece: FileSlice) -> None:
        """Continue when the next slice is in memory; until then the socket is not watched for writing."""
        self.bytes_out += count
        self.stalled_since = None
        self._set_interest(self._interest & ~WRITE)
        if self._queue.size_bytes > PAUSE_READING_BYTES:
            self.hold()
        self._loop.page_cache.prefetch(piece, self._on_prefetched)

    def _on_prefetched(self) -> None:
        self._queue.prefetched()
        self.flush()

    def _after_flush(self, count: int, remaining: int) -> None:
        self.bytes_out += count
        if count and self.stalled_since is not None:
            self.active_at = self._loop.now  # a peer that reads a long response slowly is not idle
        if not remaining:
            if self.stalled_since is not None:
                self.stalled_since = None
                self._set_interest(self._interest & ~WRITE)
            if self._closing is not None:
                self.close(self._closing)
            elif self._held:
                self.release_hold()
        elif self.stalled_since is None:
            self._await_writable()
        elif count:
            self.stalled_since = self._loop.now

    def _await_writable(self) -> None:
        self.stalled_since = self._loop.now
        self._set_interest(self._interest | WRITE)
        if self._queue.size_bytes > PAUSE_READING_BYTES:
            self.hold()

    def _set_interest(self, interest: int) -> None:
        if interest != self._interest and not self.closed:
            self._interest = interest
            try:
                self._loop.modify(self._sock, interest)
            except OSError:
                log.debug("Connection of %s closed while sending", self._sock, exc_info=True)  # reading finds the cause
