"""Long tasks in slices on the one thread of a node."""
