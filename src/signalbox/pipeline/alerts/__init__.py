"""Alerts: rules over the audit trail while it is read, and the topic that they write to."""
