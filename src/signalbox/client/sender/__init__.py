"""The producer's sender: batches, and what a response means for them."""
