"""Checks of a configuration: by `signalbox check` before anything is opened, at the start of a node, and against what
other nodes have registered. Nothing is built here."""
