from __future__ import annotations

import gc
import threading
import time
import weakref

from signalbox.transport.refresh_thread import EARLIEST_SECONDS, start_refresh_thread


class Counting:
    """A step at once, then one after each of `waits` (seconds); None ends the thread."""

    def __init__(self, *waits: float | None) -> None:
        self.wake = threading.Event()
        self.worked = threading.Semaphore(0)
        self.at: list[float] = []
        self._waits = list(waits)

    def step(self) -> float | None:
        self.at.append(time.monotonic())
        self.worked.release()
        return self._waits.pop(0) if self._waits else 3600


def thread_of(name: str) -> threading.Thread | None:
    return next((thread for thread in threading.enumerate() if thread.name == name), None)


def test_it_works_at_once_from_time_to_time_and_when_woken() -> None:
    refresher = Counting(0.05, 3600, None)
    start_refresh_thread(refresher, refresher.wake, "refresher-a")
    for _ in range(2):
        assert refresher.worked.acquire(timeout=10)
    assert refresher.at[1] - refresher.at[0] >= 0.05
    refresher.wake.set()
    assert refresher.worked.acquire(timeout=10)
    assert refresher.at[2] - refresher.at[1] >= EARLIEST_SECONDS  # frequent wake-ups do not run it more often
    thread = thread_of("refresher-a")
    if thread is not None:
        thread.join(10)
    assert thread_of("refresher-a") is None


def test_it_ends_with_its_refresher() -> None:
    refresher = Counting()
    start_refresh_thread(refresher, refresher.wake, "refresher-b")
    assert refresher.worked.acquire(timeout=10)
    thread, forgotten = thread_of("refresher-b"), weakref.ref(refresher)
    del refresher
    gc.collect()
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    assert forgotten() is None
