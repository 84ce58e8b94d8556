"""The command `signalbox`: one small file per command. Commands are clients or start processes; none is a server."""
