"""Asking again: what one broker has changed, another shows a moment later (Kafka promises no more). And children that
are ended by Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

TIMEOUT_S = 15.0


def until(holds: Callable[[], bool]) -> bool:
    """Ask until it holds; False after the deadline. Every asking is a whole command, so there is no need to sleep."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True


def hear_ctrl_c() -> None:
    """For a child before it begins: a test run in the background of a shell ignores Ctrl-C, and so would the child."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
