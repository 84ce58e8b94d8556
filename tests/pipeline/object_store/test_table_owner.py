"""A table in a store belongs to one state folder: no second pipeline writes the topic's records again."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.open_table import open_table
from signalbox.pipeline.object_store.table_owner import OWNER, owner_properties, reject_other_owner, stored_identity
from signalbox.pipeline.sinks.delta_log import ensure_table
from signalbox.pipeline.table_state import StateError, StateFolder
from tests.pipeline.object_store.store_server import compiled_server
from tests.pipeline.sinks.test_delta_log import struct

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P3", "P10")


def folder(path: Path) -> StateFolder:
    state = StateFolder(path, "t")
    state.path.mkdir(parents=True)
    return state


def test_an_identity_is_stored_once_and_no_folder_of_tables_needs_one(tmp_path: Path) -> None:
    state = folder(tmp_path)
    assert stored_identity(state) is None
    assert owner_properties(tmp_path, state) == {}
    reject_other_owner(tmp_path, state)
    properties = owner_properties(S3Location("lake", "t"), state)
    assert properties == {OWNER: stored_identity(state)} == owner_properties(S3Location("lake", "t"), state)


def test_the_state_that_began_a_table_goes_on_and_others_are_rejected(
    store_warehouse: S3Location, tmp_path: Path
) -> None:
    table = store_warehouse / "t"
    first, second = folder(tmp_path / "first"), folder(tmp_path / "second")
    reject_other_owner(table, second)
    ensure_table(table, struct(a="long"), properties=owner_properties(table, first))
    # The second one began it at the same time: its creation had no effect.
    ensure_table(table, struct(a="long"), properties=owner_properties(table, second))
    reject_other_owner(table, first)
    with pytest.raises(StateError, match=r"was begun with another checkpoint location than .*/second: give that"):
        reject_other_owner(table, second)
    ensure_table(table, struct(a="long", b="string"))
    open_table(table).optimize.compact()
    reject_other_owner(table, first)


def test_a_table_of_another_program_has_no_owner(store_warehouse: S3Location, tmp_path: Path) -> None:
    ensure_table(store_warehouse / "t", struct(a="long"))
    reject_other_owner(store_warehouse / "t", folder(tmp_path))
