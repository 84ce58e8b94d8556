from __future__ import annotations

import threading

import pytest

from signalbox.transport.tls.handshake_threads import HandshakeThreads


@pytest.mark.spec("C1")
def test_a_full_data_plane_does_not_delay_the_control_plane() -> None:
    threads = HandshakeThreads()
    held = threading.Event()
    waiting = [threads.data.submit(held.wait) for _ in range(100)]
    assert threads.control.submit(lambda: threading.current_thread().name).result(10) == "tls-control_0"
    assert not any(step.done() for step in waiting)
    held.set()
    threads.close()


def test_no_thread_before_the_first_handshake() -> None:
    before = threading.active_count()
    threads = HandshakeThreads()
    assert threading.active_count() == before
    threads.close()
    with pytest.raises(RuntimeError):
        threads.data.submit(print)
