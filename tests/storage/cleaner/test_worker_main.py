"""The calls of a cleaner process, over a socket pair and in a thread of this process."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.worker_main import serve
from signalbox.storage.cleaner.worker_messages import receive, send
from signalbox.storage.cleaner.worker_port import (
    CleanedTarget,
    CleaningFault,
    Mapped,
    Rewritten,
    SegmentSource,
    WorkerLost,
)
from tests.storage.cleaner.cleaning import LIMITS, keyed

pytestmark = pytest.mark.spec("D6")


def test_calls_are_answered_until_the_broker_closes_the_connection(tmp_path: Path) -> None:
    data = keyed({"a": "1"})
    (tmp_path / "source").write_bytes(data)
    names = ("source", "log", "index", "timeindex", "txnindex")
    fds = [os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in names]
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()

    def ask(method: str, *arguments: object, files: list[int] | None = None) -> object:
        send(ours, (method, arguments), files or [])
        return receive(ours)[0]

    source = SegmentSource(-1, 0, len(data), 0, 1)  # the number of the file is that of this process
    assert ask("begin", LIMITS) is None
    mapped = ask("map_segment", source, files=fds[:1])
    assert isinstance(mapped, Mapped)
    assert mapped.latest_offset == 0
    target = CleanedTarget(-1, -1, -1, -1, 0, 4096)
    rewritten = ask("rewrite", [source], target, RetentionRules(0, 0, 1), files=fds)
    assert rewritten == Rewritten(len(data), len(data), 1, 1)
    assert (tmp_path / "log").read_bytes() == data
    assert isinstance(ask("map_segment", SegmentSource(-1, 0, len(data) + 1, 0, 1), files=fds[:1]), CleaningFault)
    unexpected = ask("no such call")
    assert isinstance(unexpected, WorkerLost)
    assert "AttributeError" in str(unexpected)
    ours.close()
    thread.join(30)
    assert not thread.is_alive()
    theirs.close()
    for fd in fds:
        os.close(fd)
