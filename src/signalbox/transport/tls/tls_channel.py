"""A connection in the data loop with TLS: memory BIOs between the socket and the frames (figures: 256 KB reads and one
write per response beat SSL on the descriptor, which reads 16 KB records with two calls each)."""

from __future__ import annotations

import socket

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES
from signalbox.transport.channel_output import LARGE_FRAME_BYTES
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import WRITE, DataLoop
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.frame_reader import FrameSizeError
from signalbox.transport.send_queue import SendQueue
from signalbox.transport.tls.tls_failure import (
    RENEGOTIATED,
    TLS_RENEGOTIATION,
    broken_reason,
    failure_kind,
    failure_reason,
)
from signalbox.transport.tls.tls_session import TlsSession

_ENCRYPT_BYTES = 262_144  # plaintext that is encrypted at a time; the rest waits as plaintext


class TlsDataChannel(DataChannel):
    """`on_ready` is called when the handshake is complete."""

    __slots__ = ("_close_notify_sent", "_tls", "_wire")

    def __init__(
        self,
        loop: DataLoop,
        sock: socket.socket,
        tls: TlsSession,
        max_frame_bytes: int = MAX_FRAME_SIZE_BYTES,
    ) -> None:
        super().__init__(loop, sock, max_frame_bytes)
        self._tls = tls
        self._wire = SendQueue(loop.staging, loop.page_cache)
        self._close_notify_sent = False
        self._corked = True  # no response is sent as plaintext

    def start(self) -> None:
        self._loop.register(self._sock, self, self._interest, self.traffic_class)
        self._advance()  # a client sends first

    @property
    def queued_bytes(self) -> int:
        return self._queue.size_bytes + self._wire.size_bytes

    @property
    def peer_certificate(self) -> bytes | None:
        return self._tls.peer_certificate

    def on_events(self, events: int) -> None:
        self._dispatch(events)

    def flush(self) -> None:
        self._flushing = False
        if self.closed:
            return
        count = 0
        try:
            while True:
                if not self._wire.size_bytes and not self._encrypt_next():
                    break
                count += self._wire.flush(self._sock)
                if self._wire.size_bytes or self._loop.overdue():
                    break  # the rest is sent when the socket is reported as writable, which may be at once
        except OSError as error:
            self.close(f"sending failed: {error}")
            return
        if self._queue.uncached is None or self._wire.size_bytes:
            self._after_flush(count, self.queued_bytes)
        else:
            self.bytes_out += count
            self.stalled_since = None
            self._set_interest(self._interest & ~WRITE)

    def _encrypt_next(self) -> bool:
        """Encrypt the next piece of the queue; False if there is nothing to send."""
        if self._tls.established:
            if self._queue.uncached is not None:
                return False
            piece = self._queue.next_uncached()
            if piece is not None:
                self._await_disk(0, piece)
                return False
            self._tls.write(self._queue.take(_ENCRYPT_BYTES))
            if self._closing is not None and not self._queue.size_bytes and not self._close_notify_sent:
                self._close_notify_sent = True
                self._tls.send_close_notify()
        data = self._tls.outgoing()
        if data:
            self._wire.append(data, len(data))
        return bool(data)

    def _read(self) -> None:
        view = self._loop.receive_view
        try:
            count = self._sock.recv_into(view)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(f"receiving failed: {error}")
            return
        if not count:
            self.close(PEER_CLOSED)
            return
        self.bytes_in += count
        self.active_at = self._loop.now
        self._tls.receive(view[:count])
        if self._tls.established:
            self._deliver()
        else:
            self._advance()

    def _advance(self) -> None:
        self._tls.advance(self._loop.asyncio_loop, self._on_handshake_step)

    def _on_handshake_step(self, error: Exception | None) -> None:
        if self.closed:
            return
        self.flush()  # also OpenSSL's alert about an error
        if self.closed:
            return
        if error is not None:
            self.fault = failure_kind(error)
            self.close(failure_reason(error))
        elif self._tls.established:
            self.on_ready()
            self._deliver()

    def _deliver(self) -> None:
        """Decrypt what has arrived, frame by frame, until muted or until a large frame is complete."""
        reader, tls, shared = self._reader, self._tls, self._loop.receive_view
        if self._arrived_bytes:
            return
        largest = reader.current_frame_bytes
        try:
            while not reader.muted and not self.closed:
                target = reader.target
                count = tls.read_into(shared if target is None else target)
                if count == 0:
                    break
                if count < 0:
                    self.close(PEER_CLOSED)
                    return
                if target is None:
                    reader.feed(shared, 0, count)
                    largest = max(largest, count, reader.current_frame_bytes)
                elif count == len(target) and reader.current_frame_bytes >= LARGE_FRAME_BYTES:
                    self._deliver_in_slices(count)
                    break
                else:
                    reader.filled(count)
                if reader.backlog is not None or (tls.has_input and self._loop.overdue()):
                    self._defer_backlog()
        except FrameSizeError as error:
            self._reject_frame(error)
        except OSError as error:  # ssl.SSLError is one
            self.close(broken_reason(error))
        except Exception as error:
            self._fail(error)
        if largest or self._expects_large:
            self._note_expected_size(largest)
        if not self.closed and not self._flushing:
            data = tls.outgoing()  # a key update, or a session ticket
            if data:
                self._wire.append(data, len(data))
                self.flush()
                if tls.outgoing_is_renegotiation:
                    self.fault = TLS_RENEGOTIATION
                    self.close(RENEGOTIATED)

    def _deliver_large_frame(self) -> None:
        """Yields."""
        super()._deliver_large_frame()
        if self._has_input():
            self._defer_backlog()  # it is decrypted in a work of its own

    def _has_input(self) -> bool:
        return self._reader.backlog is not None or self._tls.has_input

    def _deliver_backlog(self) -> None:
        self._reader.resume()
        if self._reader.backlog is None:
            self._deliver()
