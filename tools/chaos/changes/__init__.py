"""Metadata changes under chaos: clients make them, record the responses and compare them with the state at the end.

`model.py` computes the states that are possible after the responses received and lost; a kind of entity is one file
(`topic.py`, `acl.py`, `quota.py`, `scram_user.py`) and one row in `kinds.py`; `load.py` makes changes;
`change_check.py` compares every entity with the store and with each broker's description of it.
"""
