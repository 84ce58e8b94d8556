"""Signalbox: a Kafka-wire-compatible broker cluster built around request routing.

Packages, from the lowest layer up: common, protocol, security, transport, network | client | metadata | storage,
controller | coordinator | replication, broker, wiring | pipeline, testing, cli. Imports go down only.
"""

__version__ = "0.1.0"
