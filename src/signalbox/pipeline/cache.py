"""The folder for files that the pipeline can create again: jars, the Java shim, the class archive."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/signalbox`, by default `~/.cache/signalbox`. It need not exist yet."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "signalbox"
