"""`signalbox demo`: the main job on real data, each step checked. One file a step; `run.py` is the order."""
