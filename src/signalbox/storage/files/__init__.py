"""Files: the disk as a port, names, open files, removal."""
