"""Pages in docs/ that are rendered from tables in the source."""
