"""The promise of `NodeEventLoop.has_work`: True for all that a round of asyncio would run, and for nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from signalbox.transport.node_event_loop import MeasuredLoop, NodeEventLoop
from tests.transport.loopback import spin

pytestmark = pytest.mark.spec("C5")


@pytest.fixture
def loop() -> Iterator[NodeEventLoop]:
    before = len(os.listdir("/proc/self/fd"))
    made = NodeEventLoop()
    yield made
    made.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_idle_loop_has_no_work(loop: NodeEventLoop) -> None:
    assert not loop.has_work(-1)


def test_a_callback_is_work(loop: NodeEventLoop) -> None:
    loop.call_soon(lambda: None)
    assert loop.has_work(-1)


def test_only_callbacks_are_callbacks(loop: NodeEventLoop) -> None:
    loop.call_at(loop.time() - 1, lambda: None)
    assert not loop.has_callbacks()
    loop.call_soon(lambda: None)
    assert loop.has_callbacks()


def test_a_callback_of_another_thread_is_work(loop: NodeEventLoop) -> None:
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=(lambda: None,))
    thread.start()
    thread.join()
    assert loop.has_work(-1)


def test_a_timer_is_work_when_it_is_due(loop: NodeEventLoop) -> None:
    loop.call_later(3_600, lambda: None)
    assert not loop.has_work(-1)
    loop.call_at(loop.time() - 1, lambda: None)
    assert loop.has_work(-1)
    loop.run_until_complete(asyncio.sleep(0))
    assert not loop.has_work(-1)


def test_a_ready_socket_is_work_unless_it_is_the_named_one(loop: NodeEventLoop) -> None:
    (ours, theirs), (others, their_others) = socket.socketpair(), socket.socketpair()
    for each in (ours, others):
        loop.add_reader(each, lambda: None)
    assert not loop.has_work(ours.fileno())
    theirs.send(b"x")
    assert loop.has_work(-1)
    assert not loop.has_work(ours.fileno())
    their_others.send(b"x")
    assert loop.has_work(ours.fileno())
    for each in (ours, others):
        loop.remove_reader(each)
    for each in (ours, theirs, others, their_others):
        each.close()


def test_a_stop_is_work(loop: NodeEventLoop) -> None:
    loop.stop()
    assert loop.has_work(-1)


def test_a_signal_is_work(loop: NodeEventLoop) -> None:
    loop.add_signal_handler(signal.SIGUSR1, lambda: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    assert loop.has_work(-1)
    loop.run_until_complete(asyncio.sleep(0))
    loop.remove_signal_handler(signal.SIGUSR1)


def test_a_measured_loop_notes_every_poll_and_gives_its_descriptor_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    loop = MeasuredLoop()
    asyncio.set_event_loop(loop)
    try:

        async def blocks() -> None:
            for _ in range(10):
                await asyncio.sleep(0)
            spin(0.003)

        loop.run_until_complete(blocks())
        polls = sum(loop.poll_gaps.counts)
        assert polls >= 10
        assert loop.poll_gaps.longest_us >= 2_900
        assert not loop.has_work(-1)
        assert sum(loop.poll_gaps.counts) == polls + 1, "a question is a poll"
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert len(os.listdir("/proc/self/fd")) == before
