"""Results that come later, and deadlines; without an event loop."""
