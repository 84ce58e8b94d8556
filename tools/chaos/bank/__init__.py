"""Bank transfers in transactions: producers, readers at both isolation levels, and the check of what they saw.

`transfer.py` is the load, `transfer_producer.py` and `bank_reader.py` are its clients, `history.py`
is what they record, `bank_check.py` and `dependency_cycles.py` check it, and `bank.py` is what a run of chaos starts.
"""
