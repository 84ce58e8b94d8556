"""Observations of a cluster: the only part of the doctor that has sockets."""
