"""Where a run begins and ends, and records from before the beginning of a table."""
