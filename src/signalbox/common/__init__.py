"""Nouns without behaviour that every room may use: ids, endpoints, clocks, config rows, audit events."""
