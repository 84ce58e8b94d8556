"""Sockets to ZooKeeper servers, the pipe that wakes kazoo's thread, and kazoo's log without payloads."""

from __future__ import annotations

import logging
import select
from itertools import repeat

import pytest
from kazoo.protocol.serialization import Auth, Create, SetData, Transaction

from signalbox.metadata.store.zookeeper.connection import Sockets, hide_payloads, wake_pipe
from tests.transport.self_connecting import can_be_bound, dial_themselves


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = Sockets(None, 5.0)
    with monkeypatch.context() as patched:
        port = dial_themselves(patched)
        with pytest.raises(ConnectionRefusedError, match="socket connected to itself"):
            sockets.create_connection(("127.0.0.1", port), 5.0)
    assert "socket connected to itself" in sockets.trouble
    assert can_be_bound(port)


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


def test_no_level_shows_a_payload(caplog: pytest.LogCaptureFixture) -> None:
    kazoos = logging.getLogger("test.redacting")
    kazoos.addFilter(hide_payloads)
    write = SetData("/config/users/alice", b"hush", 1)
    with caplog.at_level(1, logger=kazoos.name):
        for request in (write, Auth(0, "digest", "u:hush"), Transaction([write, Create("/a", b"hush", [], 0)])):
            kazoos.debug("Sending request(xid=%s): %s", 7, request)
        kazoos.debug("Received response(xid=%s): %r", 7, (b"hush", None))
        kazoos.error("Exception raised during deserialization of request: %s", write)
        kazoos.info("Connecting to %s(%s):%s", "localhost", "127.0.0.1", 2181)
        kazoos.info("%(a)s", {"a": 1})
    assert "hush" not in caplog.text
    assert "Sending request(xid=7): SetData /config/users/alice" in caplog.text
    assert "Connecting to localhost(127.0.0.1):2181" in caplog.text
