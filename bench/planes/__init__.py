"""The control plane beside a busy data plane, one kind of load after the other: `make bench-planes`."""
