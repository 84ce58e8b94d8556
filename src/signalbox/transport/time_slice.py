"""Slices of processor time: a node with much to do gives up its core after half a millisecond if others wait for it.

Linux lets a thread run until a tick of its timer (4 ms on many hosts), and a node with heavy connections is always
ready to run. Where several brokers and clients share a few cores each of them then waits for the slices of the others,
and a light request waits too. `sched_yield` ends a slice earlier, but on newer kernels the thread pays for the whole
slice that it was given. So a node asks for the shortest slices first (sched_attr.sched_runtime, Linux 6.12) and gives
up its core only if it got them: then its share of the processor is the same. Decision 0048 has the figures.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import time
from collections.abc import Callable

_SHORTEST_NS = 100_000  # the least that Linux grants
_RUNS_S = 0.0005
_SYSTEM_CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}  # sched_setattr, sched_getattr
_ATTRIBUTES = struct.Struct(
    "=IIQiIQQQ"
)  # struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period


class TimeSlice:
    """Of one thread. `end` gives up its core."""

    def __init__(self, end: Callable[[], None] = os.sched_yield, clock: Callable[[], float] = time.monotonic) -> None:
        self._end = end
        self._clock = clock
        self._due = 0.0

    def end_if_due(self) -> None:
        """Let others run if this thread has run for half a millisecond since the last time."""
        if self._clock() >= self._due:
            self._end()
            self._due = self._clock() + _RUNS_S


def request_short_slices() -> bool:
    """Ask for the shortest slices for this thread and those that it starts; whether they were granted. Policy and
    niceness stay as they are."""
    attributes = _attributes()
    if attributes is None:
        return False
    size, policy, _, nice, priority, _, _, _ = attributes
    if policy != os.SCHED_OTHER:
        return False  # the operator has chosen another policy: its slices are another thing
    wanted = ctypes.create_string_buffer(_ATTRIBUTES.pack(size, policy, 0, nice, priority, _SHORTEST_NS, 0, 0))
    _system_call(0, ctypes.c_int(0), wanted, ctypes.c_uint(0))
    return has_short_slices()


def has_short_slices(thread_id: int = 0) -> bool:
    """Whether the thread, 0 for this one, was granted the shortest slices."""
    attributes = _attributes(thread_id)
    return attributes is not None and attributes[1] == os.SCHED_OTHER and attributes[5] == _SHORTEST_NS


def _attributes(thread_id: int = 0) -> tuple[int, ...] | None:
    """Of the thread, 0 for this one; None where the kernel or the host does not say."""
    found = ctypes.create_string_buffer(_ATTRIBUTES.size)
    size = ctypes.c_uint(_ATTRIBUTES.size)
    if not _system_call(1, ctypes.c_int(thread_id), found, size, ctypes.c_uint(0)):
        return None
    return _ATTRIBUTES.unpack(found.raw)


def _system_call(which: int, *arguments: object) -> bool:
    """`which` of the two; False if it failed or if its number is not known here."""
    numbers = _SYSTEM_CALLS.get(platform.machine())
    return numbers is not None and ctypes.CDLL(None).syscall(ctypes.c_long(numbers[which]), *arguments) == 0
