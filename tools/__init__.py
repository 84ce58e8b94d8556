"""Programs for those who build the project: `python -m tools.chaos`, `python -m tools.fuzz`. The wheel does not have
them."""
