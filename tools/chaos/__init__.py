"""The chaos run: a real cluster under load while faults hit its brokers, its network and its metadata store.

`make chaos DURATION=120 [SEED=n] [STORE=zookeeper]`, or `python -m tools.chaos`. A seed determines the
faults and their order (`plan.py`); the package `faults` injects them. Records: `load.py` and `group.py` are the
clients (confluent-kafka), `record_check.py` compares the records read with the records acknowledged
(`destroyed_topics.py` if a fault destroyed every copy: such a loss must be in a broker's log), `replicas.py` compares
the logs on the brokers' disks. Metadata: `changes/` makes changes and compares the store and every broker with the
acknowledged changes, `writers/` checks which node wrote to the store.
"""
