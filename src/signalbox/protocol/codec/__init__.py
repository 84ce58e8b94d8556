"""How messages are read and written: a layout per version, compiled functions, and the interpreter that names a wrong
field."""
