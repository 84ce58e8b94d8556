"""Tests without free file descriptors."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

_STANDARD_STREAMS = 3
_ROW = 256


@contextmanager
def no_new_descriptor() -> Iterator[None]:
    """Inside, the process cannot open another file, not even when others are closed; open ones still work."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_STANDARD_STREAMS, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def none_left() -> Iterator[None]:
    """Inside, no descriptor is free in this process, and its limit allows no more; one that is closed can be opened
    again."""
    gc.disable()  # unreferenced log files must not be closed meanwhile
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Up to a row of free numbers, not up to the highest that is in use: another test may have left one near the hard
    # limit, and to take a million takes seconds.
    taken = [os.dup(0)]
    with suppress(OSError):  # the limit is that low
        while len(taken) < _ROW or taken[-1] - taken[-_ROW] >= _ROW:
            taken.append(os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.dup(0)
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gc.enable()
