"""Sends the same requests to one of our brokers and to Apache Kafka 4.4.0, and compares the responses field by field.

`python -m tests.system.wire_diff` (`make wire-diff`) sends all of them; it fails if a difference has no row in
docs/conformance.toml.
"""
