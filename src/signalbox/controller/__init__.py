"""The active controller: the one writer of cluster metadata. Decide (pure) -> records -> store -> replay -> effects."""
