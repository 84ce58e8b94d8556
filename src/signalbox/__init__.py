"""Signalbox: a Kafka-wire-compatible broker cluster whose subject is routing.

Rooms, from the ground floor up: common, protocol, security, transport, network | client | metadata | storage,
controller | coordinator | replication, broker, wiring | pipeline, testing, cli. Imports go down only.
"""

__version__ = "0.1.0"
