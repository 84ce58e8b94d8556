"""Any topic → a Delta table, exactly once; bad records go to a dead table."""
