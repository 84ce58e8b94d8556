"""The metadata store in a ZooKeeper ensemble: brokers on several hosts (SPEC M1, M2).

How the pieces share the work: `session.py` is one ZooKeeper session over kazoo's threads, spoken to from the event
loop; `multi.py` turns a commit into one multi request and its answer into outcomes or errors; `watches.py` makes the
port's lasting watches of ZooKeeper's one-shot ones; `adapter.py` is the port. Paths and payloads are Kafka's because
they are so in every adapter (`metadata/layout.py`): nothing is translated here but the chroot.

Nothing is exported: `connect_string.py` is read where a configuration is checked, and must not bring kazoo with it.
"""
