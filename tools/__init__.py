"""Programs for those who build the project: `python -m tools.chaos`, and likewise fuzz, mutants, report_pictures,
site, tour and words. The wheel does not have them."""
