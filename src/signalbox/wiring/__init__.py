"""The composition root: where neighbours are handed to each other. Reads like a parts list, decides nothing."""
