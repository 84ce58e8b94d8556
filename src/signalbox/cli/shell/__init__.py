"""What all commands share: their table, the options of every command, tables and JSON, hints, completion."""
