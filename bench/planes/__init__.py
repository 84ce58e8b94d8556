"""The control plane beside a data plane that is kept busy, one kind of load after the other: `make bench-planes`."""
