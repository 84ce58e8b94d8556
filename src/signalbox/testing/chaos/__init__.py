"""The kill run: a real cluster under idempotent acks=all load while its brokers are killed and stopped.

`make chaos DURATION=120 [SEED=n]`, or `python -m signalbox.testing.chaos`. A seed fixes which faults come in which
order (`plan.py`); `faults.py` inflicts them; `load.py` and `group.py` are the clients (confluent-kafka); `verdict.py`
judges what was read against what was acknowledged, `replicas.py` what is on the brokers' disks.
"""
