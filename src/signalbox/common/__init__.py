"""What every package may use: ids, endpoints, clocks, config rows, audit events, cooperative tasks, deadlines."""
