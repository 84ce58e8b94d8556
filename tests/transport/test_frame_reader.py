from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.transport.buffer_pool import BufferPool, PooledBuffer
from signalbox.transport.frame_reader import FrameReader, FrameSizeError
from tests.transport.loopback import framed


class Reading:
    """Drives a reader as a channel does: bytes go into `target` when there is one, else through `feed`."""

    def __init__(self, max_frame_bytes: int = 1_000_000, mute_every: int = 0, enough_every: int = 0) -> None:
        self.pool = BufferPool()
        self.frames: list[bytes] = []
        self.mute_every = mute_every
        self.enough_every = enough_every
        self.reader = FrameReader(self.pool, self.on_frame, max_frame_bytes, self.is_overdue)

    def is_overdue(self) -> bool:
        return bool(self.enough_every) and len(self.frames) % self.enough_every == 0

    def on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        assert not frame.readonly
        self.frames.append(bytes(frame))
        if buffer is not None:
            self.pool.release(buffer)
        if self.mute_every and len(self.frames) % self.mute_every == 0:
            self.reader.muted = True

    def receive(self, data: bytes) -> None:
        while data:
            if self.reader.muted or self.reader.backlog is not None:
                self.reader.muted = False
                self.reader.resume()
                continue
            target = self.reader.target
            if target is None:
                self.reader.feed(memoryview(bytearray(data)), 0, len(data))
                data = b""
            else:
                count = min(len(target), len(data))
                target[:count] = data[:count]
                data = data[count:]
                self.reader.filled(count)

    def finish(self) -> list[bytes]:
        while self.reader.muted or self.reader.backlog is not None:
            self.reader.muted = False
            self.reader.resume()
        return self.frames


def test_two_frames_and_a_half() -> None:
    reading = Reading()
    reading.receive(framed(b"one") + framed(b"") + framed(b"three")[:6])
    assert reading.frames == [b"one", b""]
    assert reading.reader.mid_frame
    reading.receive(b"ree")
    assert reading.frames == [b"one", b"", b"three"]
    assert not reading.reader.mid_frame


@given(
    payloads=st.lists(st.binary(max_size=300), max_size=12),
    cuts=st.lists(st.integers(0, 4000), max_size=30),
    mute_every=st.integers(0, 3),
    enough_every=st.integers(0, 3),
)
def test_any_split_gives_the_same_frames(
    payloads: list[bytes], cuts: list[int], mute_every: int, enough_every: int
) -> None:
    stream = b"".join(map(framed, payloads))
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    reading = Reading(mute_every=mute_every, enough_every=enough_every)
    for start, end in itertools.pairwise(edges):
        reading.receive(stream[start:end])
    assert reading.finish() == payloads


def test_an_overdue_reader_keeps_its_backlog_until_resume() -> None:
    reading = Reading(enough_every=2)
    stream = b"".join(framed(str(number).encode()) for number in range(5))
    reading.reader.feed(memoryview(bytearray(stream)), 0, len(stream))
    assert reading.frames == [b"0", b"1"]
    assert not reading.reader.muted
    reading.reader.resume()
    assert reading.frames == [b"0", b"1", b"2", b"3"]
    reading.reader.resume()
    assert reading.frames[4:] == [b"4"]
    assert reading.reader.backlog is None


def test_one_byte_at_a_time() -> None:
    reading = Reading()
    for byte in framed(b"slow but whole") + framed(b"again"):
        reading.receive(bytes([byte]))
    assert reading.frames == [b"slow but whole", b"again"]


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_invalid_frame_sizes_are_rejected(size: int) -> None:
    reading = Reading(max_frame_bytes=100)
    data = size.to_bytes(4, signed=True) + b"rest"
    with pytest.raises(FrameSizeError):
        reading.receive(data)
    torn = Reading(max_frame_bytes=100)
    torn.receive(data[:3])
    with pytest.raises(FrameSizeError):
        torn.receive(data[3:])
    alone = Reading(max_frame_bytes=100)
    with pytest.raises(FrameSizeError):
        alone.reader.expect(size)
    assert reading.frames == torn.frames == alone.frames == []


@pytest.mark.parametrize(
    ("prefix", "fault", "problem"),
    [
        (b"\0\0\0\x65", "frame_size", "a frame of 101 bytes is more than the 100 allowed here"),
        (b"\0\0\0\x03", "frame_size", "a frame of 3 bytes cannot hold a response"),
        (b"\xff\xff\xff\xff", "frame_size", "a frame of -1 bytes cannot hold a response"),
        (b"\x15\x03\x03\x00", "tls_on_plaintext", "the peer uses TLS on this port and this client does not"),
        (b"\x16\x03\x01\x02", "tls_on_plaintext", "the peer uses TLS on this port and this client does not"),
        (b"HTTP", "frame_size", "the peer uses HTTP: this is not a Kafka port"),
    ],
)
def test_the_first_bytes_of_a_response_name_the_likely_peer(prefix: bytes, fault: str, problem: str) -> None:
    error = FrameSizeError(int.from_bytes(prefix, signed=True), 100)
    assert (error.fault, error.response_problem.partition(": check")[0]) == (fault, problem)


def test_the_first_bytes_of_a_request_name_tls() -> None:
    assert str(FrameSizeError(101, 100)) == "frame of 101 bytes, at most 100 are allowed"
    assert "the peer sent TLS to a listener without TLS" in str(FrameSizeError(0x16030102, 100))


def test_the_largest_frame_allowed_passes() -> None:
    reading = Reading(max_frame_bytes=100)
    reading.receive(framed(bytes(100)))
    assert reading.frames == [bytes(100)]


def test_expected_frames_are_received_in_place() -> None:
    reading = Reading()
    reading.reader.expect(6)
    target = reading.reader.target
    assert target is not None
    target[:4] = b"in p"
    reading.reader.filled(4)
    assert reading.reader.target is not None
    reading.reader.target[:2] = b"la"
    reading.reader.filled(2)
    assert reading.frames == [b"in pla"]
    reading.reader.expect(0)
    assert reading.frames[-1] == b""


def test_a_muted_reader_keeps_its_backlog_without_a_second_copy() -> None:
    reading = Reading(mute_every=1)
    stream = b"".join(framed(bytes([number])) for number in range(50))
    reading.reader.feed(memoryview(bytearray(stream)), 0, len(stream))
    memories = set()
    while reading.reader.backlog is not None:
        backlog = reading.reader.backlog
        assert backlog is not None
        memories.add(id(backlog.obj))
        reading.reader.muted = False
        reading.reader.resume()
    assert [frame[0] for frame in reading.frames] == list(range(50))
    assert len(memories) == 1


def test_bytes_behind_a_backlog_are_appended() -> None:
    reading = Reading(mute_every=1)
    reading.reader.muted = True
    reading.reader.append_backlog(memoryview(framed(b"a") + framed(b"b")))
    reading.reader.append_backlog(memoryview(framed(b"c")))
    assert reading.finish() == [b"a", b"b", b"c"]


def test_a_discarded_reader_gives_its_buffer_back() -> None:
    reading = Reading()
    reading.receive(framed(bytes(9000))[:100])
    assert reading.pool.used_bytes > 0
    reading.reader.discard()
    assert reading.pool.used_bytes == 0
    reading.reader.resume()
    assert reading.frames == []
