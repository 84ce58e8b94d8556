"""Which state folder a table belongs to.

The state has the lock of the table, but it need not lie beside it: with `--checkpoint-location` it is elsewhere, on
some machine. Two pipelines with a state each would take each other's batches for their own and skip them. So a new
table gets the identity of its state folder as a property, in the commit that creates it, which only one of two
processes can make. The identity is a random id in the folder, not its path: a warehouse can be moved and copied with
its state.

Tables of earlier versions may have no such property: then any state folder is accepted.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.object_store.location import TableLocation
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
    replace_durably(folder.path / _FILE, f"{uuid.uuid4()}\n")
    return str(stored_identity(folder))


def owner_properties(folder: StateFolder) -> Mapping[str, str]:
    """The Delta properties of a new table. The caller holds the lock of the state folder."""
    return {OWNER: _identity(folder)}


def reject_other_owner(location: TableLocation, folder: StateFolder) -> None:
    """Raises StateError if the table was begun with another state folder."""
    if not table_exists(location):
        return
    owner = open_table(location).metadata().configuration.get(OWNER)
    if owner not in (None, stored_identity(folder)):
        raise StateError(
            f"table {location} was begun with another checkpoint location than {folder.path.parent.parent}: give that "
            "folder with --checkpoint-location, or choose another name or warehouse. If it is lost, remove the table "
            "too, to read the topic from its beginning again"
        )
