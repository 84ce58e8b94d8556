"""Topics in responses, and their creation on demand."""
