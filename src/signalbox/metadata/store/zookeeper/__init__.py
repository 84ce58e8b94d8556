"""The metadata store in a ZooKeeper ensemble: brokers on several hosts (SPEC M1, M2).

The modules: `session.py` is one ZooKeeper session over kazoo's threads, used from the event loop; `multi.py` converts a
commit into one multi request and its response into outcomes or errors; `watches.py` makes the port's permanent watches
from ZooKeeper's one-shot watches; `adapter.py` implements the port. Paths and payloads are Kafka's, as in every adapter
(`metadata/layout.py`): only the chroot is added here.

Nothing is exported: the configuration check imports `connect_string.py`, and must not import kazoo with it.
"""
