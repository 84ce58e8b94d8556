"""Drivers that are killed at each step, runs on a Spark cluster and in an object store: part of `make pipeline-tests`."""
