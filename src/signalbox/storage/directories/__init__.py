"""Log directories, and moves of logs between them."""
