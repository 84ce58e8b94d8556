"""`signalbox drill`: faults of the cluster that `signalbox up --drill` runs, one command for each."""
