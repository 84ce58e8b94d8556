"""The kill run: a real cluster under load while its brokers, its network and its metadata store are hurt.

`make chaos DURATION=120 [SEED=n] [STORE=zookeeper]`, or `python -m signalbox.testing.chaos`. A seed fixes which faults
come in which order (`plan.py`); `faults.py`, `network.py` and `store_faults.py` inflict them. Records: `load.py` and
`group.py` are the clients (confluent-kafka), `verdict.py` judges what was read against what was acknowledged,
`replicas.py` what is on the brokers' disks. Metadata: `changes/` makes changes and judges the store and every broker by
what was acknowledged, `writers/` who wrote to the store.
"""
