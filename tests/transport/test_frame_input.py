"""When frames are delivered: the owner mutes, the channel holds, and received bytes come before the socket's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.frame_input import FrameInput
from signalbox.transport.frame_reader import FrameReader
from tests.transport.loopback import framed


class Input(FrameInput):
    """Bytes come from `receive`; the test runs the callbacks of an iteration."""

    def __init__(self) -> None:
        super().__init__(FrameReader(BufferPool(), lambda frame, buffer: None, 1_000, self.enough))
        self.share = 0
        self.on_frame = lambda frame, buffer: self.deliver(bytes(frame))
        self.delivered: list[bytes] = []
        self.callbacks: list[Callable[[], None]] = []
        self.reads_on = 0
        self.ends: list[str] = []
        self.at_frame: Callable[[], None] = lambda: None

    def deliver(self, frame: bytes) -> None:
        self.delivered.append(frame)
        self.at_frame()

    def enough(self) -> bool:
        return bool(self.share) and len(self.delivered) % self.share == 0

    def defer_backlog(self) -> None:
        self._defer_backlog()

    def receive(self, *frames: bytes) -> None:
        data = memoryview(b"".join(map(framed, frames)))
        self._reader.feed(data, 0, len(data))

    def run_iteration(self) -> None:
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback()

    def close(self, reason: str) -> None:
        self.closed = True
        self.ends.append(reason)

    def close_after_flush(self, reason: str) -> None:
        self.close(reason)

    def _run_soon(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def _resume_reading(self) -> None:
        self.reads_on += 1


def test_a_muted_owner_gets_the_rest_in_an_iteration_of_its_own() -> None:
    channel = Input()
    channel.at_frame = channel.mute
    channel.receive(b"a", b"b", b"c")
    assert channel.delivered == [b"a"]
    channel.unmute()
    assert (channel.delivered, channel.muted) == ([b"a"], True), "not in the owner's own call"
    channel.run_iteration()
    assert channel.delivered == [b"a", b"b"]
    channel.unmute()
    channel.run_iteration()
    channel.unmute()
    assert (channel.delivered, channel.muted, channel.reads_on) == ([b"a", b"b", b"c"], False, 1)


def test_an_overdue_channel_defers_its_backlog_to_another_iteration() -> None:
    channel = Input()
    channel.share = 2
    channel.receive(b"a", b"b", b"c", b"d", b"e")
    channel.defer_backlog()
    assert (channel.delivered, channel.muted) == ([b"a", b"b"], True), "nothing may overtake the rest"
    channel.run_iteration()
    assert channel.delivered == [b"a", b"b", b"c", b"d"]
    channel.run_iteration()
    assert (channel.delivered[4:], channel.muted, channel.reads_on) == ([b"e"], False, 1)


def test_a_muted_or_closed_channel_stops_without_deferring_its_backlog() -> None:
    for stop in (Input.mute, Input.hold, lambda channel: channel.close("gone")):
        channel = Input()
        channel.share = 1
        channel.receive(b"a", b"b")
        stop(channel)
        channel.defer_backlog()
        assert channel.callbacks == []


def test_a_held_channel_stays_muted_when_the_owner_unmutes() -> None:
    channel = Input()
    channel.at_frame = channel.hold
    channel.receive(b"a", b"b")
    channel.unmute()
    channel.run_iteration()
    assert (channel.delivered, channel.muted) == ([b"a"], True)
    channel.at_frame = lambda: None
    channel.release_hold()
    channel.run_iteration()
    assert (channel.delivered, channel.muted) == ([b"a", b"b"], False)


def test_the_owner_stays_muted_when_the_hold_ends() -> None:
    channel = Input()
    channel.hold()
    channel.mute()
    channel.release_hold()
    assert channel.muted
    channel.unmute()
    assert (channel.muted, channel.reads_on) == (False, 1)


@pytest.mark.parametrize("stop", ["mute", "hold"])
def test_a_resumption_is_called_off(stop: str) -> None:
    channel = Input()
    channel.at_frame = channel.mute
    channel.receive(b"a", b"b")
    channel.unmute()
    getattr(channel, stop)()
    channel.run_iteration()
    assert channel.delivered == [b"a"]


def test_a_fault_above_costs_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    channel = Input()
    channel.at_frame = channel.mute
    channel.receive(b"a", b"b")

    def fail() -> None:
        raise RuntimeError("a bug")

    channel.at_frame = fail
    channel.unmute()
    channel.run_iteration()
    assert channel.ends == ["internal error: RuntimeError('a bug')"]
    assert "a bug" in caplog.text


def test_a_frame_that_is_too_large_is_the_peers_fault() -> None:
    channel = Input()
    channel.at_frame = channel.mute
    channel.receive(b"a", bytes(2_000))
    channel.unmute()
    channel.run_iteration()
    assert channel.fault == "frame_size"
    assert channel.ends == ["frame of 2000 bytes, at most 1000 are allowed"]
