"""A broker on the SQLite store of a run: the store's state, history and copy. The ZooKeeper store needs an ensemble."""

from __future__ import annotations

from pathlib import Path

from tools.chaos.plan import Kind
from tools.chaos.stores import STORES
from tools.chaos.writers.one_writer import check_writers

from signalbox.metadata import layout
from signalbox.testing.process_cluster import ProcessCluster

SESSION_MS = 6_000


def test_a_broker_on_the_sqlite_store_is_observed(tmp_path: Path) -> None:
    with STORES["sqlite"](tmp_path, SESSION_MS) as store:
        cluster = ProcessCluster(
            tmp_path, 1, overrides=store.settings, per_broker=store.per_broker, module=store.module
        )
        with cluster, store.state() as state:
            assert (state.controller_id(), state.what_is_missing(1)) == (1, "")
            assert store.acts(cluster).keys() == {Kind.PAUSE_IN_COMMIT, Kind.STORE_OUTAGE}
            epoch = state.controller_epoch()
        history = list(store.history())
        assert f"{layout.BROKER_IDS}/1" in {written.path for written in history}
        writers = check_writers(history)
        assert (writers.epochs, writers.intruders) == ((1,) * epoch, ())
        assert writers.commits > 0


def test_a_copy_of_the_sqlite_store_is_put_back(tmp_path: Path) -> None:
    with STORES["sqlite"](tmp_path, SESSION_MS) as store:
        put_back = store.back_up()
        with ProcessCluster(tmp_path, 1, overrides=store.settings, module=store.module):
            pass
        assert list(store.history()) != []
        put_back()
        assert list(store.history()) == []
        with store.state() as state:
            assert state.controller_epoch() == 0
