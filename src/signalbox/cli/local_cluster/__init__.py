"""A cluster of `signalbox up`: its topics, its background process, its end."""
