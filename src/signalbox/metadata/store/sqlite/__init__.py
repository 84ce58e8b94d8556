"""The metadata store in a SQLite file: no server, several broker processes on one host (SPEC M1).

The modules: `database.py` opens, checks, reads and writes the file; `worker.py` is the one thread that does so;
`session_file.py` has the lock and heartbeat of a participant; `change_notifier.py` notifies the others of a commit;
`write_lock.py` finds (and, once its session has expired, kills) a process that is suspended inside a transaction;
`peers.py` watches the other participants; `adapter.py` implements the port.
"""

from signalbox.metadata.store.sqlite.adapter import SqliteMetadataStore

__all__ = ["SqliteMetadataStore"]
