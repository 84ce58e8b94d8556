"""Threads that the interpreter would wait for at its end: a leaked one makes a successful run hang forever."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from concurrent.futures.thread import _threads_queues


def threads_left(timeout_s: float) -> list[threading.Thread]:
    """The threads alive after `timeout_s` seconds; an executor's idle threads are ended by the interpreter."""
    deadline = time.monotonic() + timeout_s
    threads = [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]
    for thread in threads:
        if thread not in _threads_queues:
            thread.join(max(0.0, deadline - time.monotonic()))
    return [thread for thread in threads if thread.is_alive() and thread not in _threads_queues]


def stack_of(thread: threading.Thread) -> str:
    """The stack of a thread; empty if it has ended meanwhile."""
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame else ""
