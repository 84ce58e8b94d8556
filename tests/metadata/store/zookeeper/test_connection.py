"""Sockets to ZooKeeper servers."""

from __future__ import annotations

import pytest

from signalbox.metadata.store.zookeeper.connection import Sockets
from tests.transport.self_connecting import can_be_bound, dial_themselves


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = Sockets(None, 5.0)
    with monkeypatch.context() as patched:
        port = dial_themselves(patched)
        with pytest.raises(ConnectionRefusedError, match="socket connected to itself"):
            sockets.create_connection(("127.0.0.1", port), 5.0)
    assert "socket connected to itself" in sockets.trouble
    assert can_be_bound(port)
