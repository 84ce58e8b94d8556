"""The command `signalbox`: a small file or a package per command. Commands are clients or start processes; none is a
server."""
