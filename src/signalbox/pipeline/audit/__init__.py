"""The brokers' audit topic → tables and the figures of the report."""
