"""What a configuration is held against: by `signalbox check` before anything is opened, by a start, and by what other
nodes have registered. Nothing is built here."""
