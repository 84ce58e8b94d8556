"""Faults of a cluster that another process runs: `signalbox up --drill` has the cluster, `signalbox drill` asks it."""
