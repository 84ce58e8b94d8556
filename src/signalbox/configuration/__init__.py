"""A node's configuration: files, the keys of all packages, security, and the checks before a start."""
