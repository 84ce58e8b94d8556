"""Killed drivers, runs on a Spark cluster and in an object store: part of `make pipeline-tests`."""
