"""Event time of a table's rows: watermarks, late rows, and rows that repeat earlier ones."""
