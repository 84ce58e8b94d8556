"""An older copy of a metadata store in SQLite is put back, as an operator does it."""

from __future__ import annotations

import shutil
from pathlib import Path


def put_back(copy: Path, store: Path) -> None:
    """The copy becomes the store. Without its write-ahead log, which is left over if the last two connections are
    closed at the same time: SQLite would apply it to the copy."""
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, store)
