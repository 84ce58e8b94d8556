"""The composition root: it builds the objects of all packages and passes them to each other. It decides nothing."""
