"""Which batches are valid, and the search for corrupt ones."""
