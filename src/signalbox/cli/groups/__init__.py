"""`signalbox group lag` and `signalbox group reset-offsets`."""
