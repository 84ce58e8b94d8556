"""Which state folder a table in an object store belongs to.

Beside a table in a folder lies its state, with a lock. The state of a table in a store is on some machine: two
pipelines with a state each would both write all records of the topic. So a new table gets the identity of its state
folder as a property, in the commit that creates it, which only one of two processes can make.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping

from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.open_table import open_table, table_exists
from signalbox.pipeline.table_state import StateError, StateFolder

OWNER = "signalbox.state"
_FILE = "identity"


def stored_identity(folder: StateFolder) -> str | None:
    """The identity of a state folder; None before it has one."""
    path = folder.path / _FILE
    return path.read_text().strip() if path.is_file() else None


def _identity(folder: StateFolder) -> str:
    """The identity, on disk before a table can have it."""
    stored = stored_identity(folder)
    if stored is not None:
        return stored
    fresh = folder.path / f"{_FILE}.{os.getpid()}"
    with fresh.open("w") as file:
        file.write(f"{uuid.uuid4()}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder.path / _FILE)
    return str(stored_identity(folder))


def owner_properties(location: TableLocation, folder: StateFolder) -> Mapping[str, str]:
    """The Delta properties of a new table; none in a folder. The caller holds the lock of the state folder."""
    return {OWNER: _identity(folder)} if isinstance(location, S3Location) else {}


def reject_other_owner(location: TableLocation, folder: StateFolder) -> None:
    """Raises StateError if the table was begun with another state folder."""
    if not isinstance(location, S3Location) or not table_exists(location):
        return
    owner = open_table(location).metadata().configuration.get(OWNER)
    if owner not in (None, stored_identity(folder)):
        raise StateError(
            f"table {location} was begun with another checkpoint location than {folder.path.parent.parent}: give that "
            "folder with --checkpoint-location, or choose another name or warehouse. If it is lost, remove the table "
            "too, to read the topic from its beginning again"
        )
