"""`signalbox demo`: the main use case on real data, with checks in each step. One file per step; `steps.py` has the
order."""
