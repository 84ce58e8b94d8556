"""A copy of a running ensemble's data, restored as `make chaos` does it: what was written after the copy is lost."""

from __future__ import annotations

from pathlib import Path

from kazoo.client import KazooClient
from tools.chaos.faults.store_copies import back_up_ensemble

from signalbox.testing.zookeeper import ensemble


def test_an_ensemble_is_as_it_was(tmp_path: Path) -> None:
    with ensemble(tmp_path) as (server,):
        for step in ("before", "since"):
            client = KazooClient(server.address)
            client.start()
            client.create(f"/{step}", b"")
            client.stop()
            client.close()
            if step == "before":
                put_back = back_up_ensemble(server)
        put_back()
        client = KazooClient(server.address)
        client.start()
        assert client.exists("/before")
        assert not client.exists("/since")
        client.stop()
        client.close()
