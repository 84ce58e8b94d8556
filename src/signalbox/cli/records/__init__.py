"""Commands that write, read and delete records."""
