"""Metadata changes under chaos: clients that make them, what they were told, and whether the end agrees with it.

`model.py` says which states an entity may be in after what was answered and what was not; a kind of entity is one file
(`topic.py`, `acl.py`, `quota.py`, `scram_user.py`) and one row in `kinds.py`; `load.py` makes changes; `verdict.py`
compares every entity with the store and with what each broker says of it.
"""
