"""Which node is the active controller, and its first decision."""
