"""A thread that keeps something fresh: it fetches, sleeps until the next time or until it is woken, and fetches again.

It must not hold what it works for while it sleeps, or that could never be forgotten: the thread ends when its keeper
says so, or when nobody has the keeper any more. It is a daemon: a fetch that hangs does not keep the process.
"""

from __future__ import annotations

import threading
import time
import weakref
from typing import Protocol

EARLIEST_SECONDS = 1.0
"""However often it is woken, it does not work more often than this."""


class Keeper(Protocol):
    def step(self) -> float | None:
        """Work, in the thread; seconds until the next time, None to end. Must not raise."""
        ...


def start_keeper_thread(keeper: Keeper, wake: threading.Event, name: str) -> None:
    """Begin at once. `wake` is the keeper's own event: set it to be worked for early, or to be ended."""
    threading.Thread(target=_run, args=(weakref.ref(keeper), wake), name=name, daemon=True).start()
    weakref.finalize(keeper, wake.set)


def _run(keeper: weakref.ref[Keeper], wake: threading.Event) -> None:
    while True:
        held = keeper()
        wait_s = held.step() if held is not None else None
        if wait_s is None:
            return
        del held
        time.sleep(min(wait_s, EARLIEST_SECONDS))
        wake.wait(max(0.0, wait_s - EARLIEST_SECONDS))
        wake.clear()
