"""kazoo's log lines have the types and paths of its requests, but no payloads."""

from __future__ import annotations

import logging

import pytest
from kazoo.protocol.serialization import Auth, Create, SetData, Transaction

from signalbox.metadata.store.zookeeper.redacting_log_filter import hide_payloads


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
