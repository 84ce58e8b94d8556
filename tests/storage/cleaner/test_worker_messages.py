"""Messages and open files over a socket pair."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from signalbox.storage.cleaner.segment_groups import MOST_SEGMENTS
from signalbox.storage.cleaner.worker_messages import MOST_FILES, receive, send

pytestmark = pytest.mark.spec("D6")


def test_messages_arrive_in_order_with_their_files(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    paths = [tmp_path / str(number) for number in range(MOST_SEGMENTS + 4)]
    fds = [os.open(path, os.O_RDWR | os.O_CREAT) for path in paths]
    for number, fd in enumerate(fds):
        os.write(fd, str(number).encode())
    with ours, theirs:
        send(ours, ("call", [1, 2]), fds)
        send(ours, "x" * 20_000)
        message, received = receive(theirs)
        assert message == ("call", [1, 2])
        assert [os.pread(fd, 9, 0) for fd in received] == [str(number).encode() for number in range(len(fds))]
        assert receive(theirs) == ("x" * 20_000, [])
        ours.close()
        with pytest.raises(EOFError):
            receive(theirs)
    for fd in fds + received:
        os.close(fd)
    assert len(fds) <= MOST_FILES
