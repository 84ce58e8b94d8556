"""Faults of a metadata store: its server is killed or stopped, its file locked, one broker cut off from it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from signalbox.metadata.store.sqlite.write_lock import write_lock_holder
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ZooKeeperServer
from tools.chaos.faults.injector import Act, paused
from tools.chaos.faults.switchboard_process import SwitchboardProcess
from tools.chaos.plan import Kind

_CATCH_S = 30.0  # how long the run tries to stop a broker during a commit
_BETWEEN_TRIES_S = 0.002
_LOCK_TIMEOUT_S = 30.0


def file_faults(cluster: ProcessCluster, file: Path) -> Mapping[Kind, Act]:
    """Faults of a SQLite store."""

    def pause_in_commit(broker_id: int, hold_s: float) -> bool:
        """Stops it while it holds the write lock, if that moment is caught; its peers may then kill it."""
        process = cluster.brokers[broker_id].process
        deadline = time.monotonic() + _CATCH_S
        while time.monotonic() < deadline:
            cluster.pause(broker_id)
            if process is not None and write_lock_holder(file) == process.pid:
                break
            cluster.resume(broker_id)
            time.sleep(_BETWEEN_TRIES_S)
        return paused(cluster, broker_id, hold_s)

    def lock(broker_id: int, hold_s: float) -> bool:
        """A process other than a broker holds the write lock: a backup tool, an operator's shell."""
        with closing(sqlite3.connect(file, isolation_level=None, timeout=_LOCK_TIMEOUT_S)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            time.sleep(hold_s)
            connection.execute("ROLLBACK")
        return False

    return {Kind.PAUSE_IN_COMMIT: pause_in_commit, Kind.STORE_OUTAGE: lock}


def ensemble_faults(
    server: ZooKeeperServer, board: SwitchboardProcess | None, lines: Mapping[int, str]
) -> Mapping[Kind, Act]:
    """Faults of a ZooKeeper store; `lines` lead to it, by broker."""

    def kill(broker_id: int, hold_s: float) -> bool:
        server.kill()
        time.sleep(hold_s)
        server.start()
        server.wait()
        return False

    def stop(broker_id: int, hold_s: float) -> bool:
        server.pause()
        time.sleep(hold_s)
        server.resume()
        return False

    def cut(broker_id: int, hold_s: float) -> bool:
        assert board is not None, "there is no switchboard between the brokers and the store"
        board.blackhole(lines[broker_id])
        time.sleep(hold_s)
        board.restore(lines[broker_id])
        return False

    return {Kind.STORE_KILL: kill, Kind.STORE_OUTAGE: stop, Kind.STORE_CUT: cut}
