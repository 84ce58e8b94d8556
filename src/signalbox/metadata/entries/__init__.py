"""The entries of the metadata store, as values: one file per kind."""
