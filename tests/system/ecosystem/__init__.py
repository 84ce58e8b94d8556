"""Exactly-once programs of other projects against Signalbox brokers that are killed meanwhile: `make ecosystem`."""
