"""`signalbox doctor`: its options in `command.py`, what it does in `rounds.py`."""
