"""Opening, guarding and copying the metadata store."""
