"""Mutation testing of the decisions: `make mutants`."""
