"""Coordinators: who decides for a consumer group, and later for a transaction.

`runtime.py` is generic: a shard per partition of an internal topic, loaded by replaying that partition, every
decision written to it before it is answered. `group/` holds the shard for classic consumer groups. Nothing but
`runtime.py` knows asyncio, the wall clock or randomness.
"""
