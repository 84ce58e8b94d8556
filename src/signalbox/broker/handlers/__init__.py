"""API handlers: one file per API or group of related APIs, named after it. A handler never writes to a socket."""
