"""Values without behavior that every package may use: ids, endpoints, clocks, config rows, audit events."""
