"""Coordinators of consumer groups and of transactions.

`runtime.py` is generic: it has one shard per partition of an internal topic, loads it by replaying that partition, and
writes the records of each decision to the partition before the response is sent. `group/` holds the shard for classic
consumer groups, `transaction/` that for transactions and the markers that end them. Only `runtime.py` uses asyncio,
the wall clock and randomness.
"""
