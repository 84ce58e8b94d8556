"""Which node responds at an address, and what a client knows of its routes."""
