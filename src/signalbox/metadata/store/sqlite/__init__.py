"""The metadata store in a SQLite file: no server, several broker processes on one host (SPEC M1).

How the pieces share the work: `database.py` opens, checks and speaks to the file; `worker.py` is the one thread
that does so; `session_file.py` is how a participant proves that it lives; `doorbell.py` tells the others of a
commit; `write_lock.py` finds (and, once its session is over, ends) a process stopped inside a transaction;
`peers.py` watches the other participants; `adapter.py` is the port.
"""

from signalbox.metadata.store.sqlite.adapter import SqliteMetadataStore

__all__ = ["SqliteMetadataStore"]
