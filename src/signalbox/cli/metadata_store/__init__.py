"""`signalbox store`."""
