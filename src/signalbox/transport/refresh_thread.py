"""A thread that refreshes something: it fetches, sleeps until the next time or until it is woken, and fetches again.

It holds no reference to its refresher while it sleeps; otherwise the refresher could never be freed. The thread ends
when `step` of its refresher returns None, or when the refresher is freed. It is a daemon: a fetch that hangs does not
keep the process alive.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

EARLIEST_SECONDS = 1.0
"""The pause after a step is not shortened below this, however often the thread is woken."""


class RefreshThread(Protocol):
    def step(self) -> float | None:
        """Work, in the thread; returns the seconds until the next time, None to end. Must not raise."""
        ...


def start_refresh_thread(refresher: RefreshThread, wake: threading.Event, name: str) -> None:
    """Begin at once. `wake` is the refresher's own event: set it for an early step, or to end the thread."""
    threading.Thread(target=_run, args=(weakref.ref(refresher), wake), name=name, daemon=True).start()
    weakref.finalize(refresher, wake.set)


def _run(refresher: weakref.ref[RefreshThread], wake: threading.Event) -> None:
    while True:
        target = refresher()
        wait_s = target.step() if target is not None else None
        if wait_s is None:
            return
        del target
        time.sleep(min(wait_s, EARLIEST_SECONDS))
        wake.wait(max(0.0, wait_s - EARLIEST_SECONDS))
        wake.clear()
