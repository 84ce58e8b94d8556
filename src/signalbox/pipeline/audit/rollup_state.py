"""The states of the roll-ups, stored beside the pipeline's own state, and the version of the events table that they
cover: `rollups.json`, and a Parquet file for each state and version.

`rollups.json` is replaced after the files are written and the roll-up tables renewed: a program that dies before that
leaves the earlier states, and the next renewal does the same again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from signalbox.pipeline.audit.rollup_table import STATES

_FILE = "rollups.json"


class RollupStates:
    """`table`: the id of the events table. States of another table, or of other statements than this program's, count
    as absent, and so do files that cannot be read."""

    def __init__(self, folder: Path, table: str) -> None:
        self._folder = folder
        self._owner = {"table": table, "statements": _digest()}

    def covered_version(self) -> int | None:
        """The version of the events table whose events the states cover; None: there are no states."""
        try:
            stored: dict[str, Any] = json.loads((self._folder / _FILE).read_text())
            version = int(stored.pop("version"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        readable = all(_is_readable(self.path(name, version)) for name in STATES)
        return version if stored == self._owner and readable else None

    def path(self, name: str, version: int) -> Path:
        """The file of a state."""
        return self._folder / f"{name}-{version}.parquet"

    def write(self, name: str, version: int, state: pa.Table) -> None:
        """Writes a state; it counts when `commit` has named its version."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.path(name, version).open("wb") as file:
            pq.write_table(state, file)
            os.fsync(file.fileno())

    def commit(self, version: int) -> None:
        """From now on the states of this version count. Removes the others."""
        fresh = self._folder / f"{_FILE}.fresh"
        fresh.write_text(json.dumps({**self._owner, "version": version}) + "\n")
        fresh.replace(self._folder / _FILE)
        kept = {self.path(name, version) for name in STATES}
        for file in set(self._folder.glob("*.parquet")) - kept:
            file.unlink()


def _is_readable(path: Path) -> bool:
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def _digest() -> str:
    return hashlib.sha256(json.dumps(STATES, sort_keys=True).encode()).hexdigest()
