"""Which node wrote what to the metadata store, from its own history: one writer in every controller epoch (SPEC F1,
M3).

`one_writer.py` checks the history; `observed_broker.py` is a broker that records the session of every write to a SQLite
store in the transaction that makes it, `transaction_log.py` reads ZooKeeper's transaction log.
"""
