"""Which principals may do what, and on which listeners."""
