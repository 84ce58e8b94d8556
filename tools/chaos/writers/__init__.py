"""Which node wrote what to the metadata store, from its own history: one writer in every controller epoch (SPEC F1,
M3).

`one_writer.py` checks the history; `file_history.py` lets a SQLite store record the session of every write in the
transaction that makes it (`observed_broker.py` is the broker that does so), `transaction_log.py` reads ZooKeeper's
transaction log.
"""
