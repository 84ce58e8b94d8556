"""What a node does beside its requests: housekeeping, the audit trail's delivery, metrics, listeners that change."""
