"""Ours beside Apache Kafka 4.4.0: three nodes each, the same loads, one after the other."""
