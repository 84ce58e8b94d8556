"""Asking again: what one broker has changed, another shows a moment later (Kafka promises no more)."""

from __future__ import annotations

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
