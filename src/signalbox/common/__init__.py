"""Values without behaviour that every package may use: ids, endpoints, clocks, config rows, audit events."""
