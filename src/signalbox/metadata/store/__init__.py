"""The metadata store: one port, several adapters. No adapter is exported here: wiring imports the one it needs."""
