"""The store's content as a context, and its changes as events."""
