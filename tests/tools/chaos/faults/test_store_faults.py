"""No process writes while the file is locked; a broker that is paused inside a commit holds the lock and is killed."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from tools.chaos.changes.caller import Caller
from tools.chaos.changes.model import NOT_THERE
from tools.chaos.changes.quota import Quotas
from tools.chaos.faults.store_faults import file_faults
from tools.chaos.plan import Kind
from tools.chaos.state_reader import state_in_file
from tools.chaos.writers.observed_broker import make_observed

from signalbox.metadata.store.sqlite.write_lock import write_lock_holder
from signalbox.protocol.error_table import Error
from signalbox.testing.process_cluster import ProcessCluster

SESSION_S = 2.0


def test_an_outage_of_a_file_is_a_lock_on_it(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    make_observed(file)
    outage = file_faults(ProcessCluster(tmp_path), file)[Kind.STORE_OUTAGE]
    locking = threading.Thread(target=outage, args=(0, 0.5))
    locking.start()
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as connection:
        while write_lock_holder(file) is None:  # the thread's connection is of this process: the file shows its lock
            assert locking.is_alive()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            connection.execute("BEGIN IMMEDIATE")
        locking.join()
        connection.execute("BEGIN IMMEDIATE")


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(180)
@pytest.mark.spec("M3")
def test_a_broker_stopped_in_a_commit_is_ended_by_its_peers_who_write_on(tmp_path: Path) -> None:
    file = tmp_path / "metadata.db"
    overrides = {"signalbox.metrics.http.port": "-1", "broker.session.timeout.ms": str(int(SESSION_S * 1000))}
    with ProcessCluster(tmp_path, 3, overrides=overrides) as cluster, state_in_file(file) as state:
        controller = state.controller_id()
        other = next(node for node in cluster.brokers if node != controller)
        stopping = threading.Event()

        def write() -> None:
            """Writes through another broker, so that the controller commits all the time."""
            with Caller(cluster.brokers[other].address("CLIENT"), 60) as caller:
                while not stopping.is_set():
                    set_a_quota(caller)

        writing = threading.Thread(target=write)
        writing.start()
        ended = file_faults(cluster, file)[Kind.PAUSE_IN_COMMIT](controller, 5 * SESSION_S)
        stopping.set()
        writing.join()
        assert ended
        assert not cluster.brokers[controller].running
        with Caller(cluster.brokers[other].address("CLIENT"), 60) as caller:
            assert set_a_quota(caller) == Error.NONE
        assert state.controller_id() not in (-1, controller)


def set_a_quota(caller: Caller) -> Error:
    kind, user = Quotas(), "changed-user-w"
    return kind.on_response(user, caller.ask(kind.draw(user, NOT_THERE, Random()).request))
