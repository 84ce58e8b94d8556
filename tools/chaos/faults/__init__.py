"""Faults, one file per kind: brokers, network, disks, the metadata store."""
