"""`signalbox demo`: the main use case on real data, with checks in each step. One file per step; `run.py` has the
order."""
