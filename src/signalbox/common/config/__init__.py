"""Configuration: files, keys, types, errors."""
