"""One API, one file; the file's name is the API's. A handler knows no version and writes to no socket."""
