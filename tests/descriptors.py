"""Tests without free file descriptors."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

_STANDARD_STREAMS = 3


@contextmanager
def no_new_descriptor() -> Iterator[None]:
    """Inside, the process cannot open another file, not even when others are closed; open ones still work."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_STANDARD_STREAMS, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
