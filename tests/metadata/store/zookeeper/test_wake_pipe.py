"""One byte per waiting request, as many as fit into the pipe. The sender never blocks."""

from __future__ import annotations

import select
from itertools import repeat

import pytest

from signalbox.metadata.store.zookeeper.wake_pipe import wake_pipe


def test_thousands_of_bytes_wait_and_one_too_many_says_so() -> None:
    reading, writing = wake_pipe()
    assert select.select([reading], [], [], 0)[0] == []
    for _ in range(60_000):
        assert writing.send(b"\0") == 1
    assert select.select([reading], [], [], 0)[0] == [reading]
    assert reading.recv(1) == b"\0"
    with pytest.raises(BlockingIOError):
        list(map(writing.send, repeat(b"\0")))
    for end in (reading, writing, reading):
        end.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        writing.send(b"\0")
