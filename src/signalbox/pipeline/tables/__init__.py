"""Any topic → a Delta table, exactly once, bad records kept aside."""
