"""Tests of `tools/chaos/bank/`."""
