"""A table belongs to one state folder: no second pipeline writes the topic's records again."""

from __future__ import annotations

import shutil
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


def test_an_identity_is_stored_once(tmp_path: Path) -> None:
    state = folder(tmp_path)
    reject_other_owner(tmp_path / "t", state)  # there is no table
    assert stored_identity(state) is None
    assert owner_properties(state) == {OWNER: stored_identity(state)} == owner_properties(state)


def test_a_table_in_a_folder_has_one_owner_too(tmp_path: Path) -> None:
    table, first, second = tmp_path / "lake" / "t", folder(tmp_path / "first"), folder(tmp_path / "second")
    ensure_table(table, struct(a="integer"), properties=owner_properties(first))
    ensure_table(table, struct(a="integer"), properties=owner_properties(second))
    ensure_table(table, struct(a="long", b="string"))
    reject_other_owner(table, first)
    for other in (second, folder(tmp_path / "third")):
        with pytest.raises(StateError, match=rf"lake/t was begun with another checkpoint location than {tmp_path}/"):
            reject_other_owner(table, other)


def test_a_warehouse_can_be_moved_and_copied_with_its_state(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ensure_table(lake / "t", struct(a="long"), properties=owner_properties(folder(lake)))
    shutil.copytree(lake, tmp_path / "copy")
    lake.rename(tmp_path / "moved")
    for place in (tmp_path / "copy", tmp_path / "moved"):
        reject_other_owner(place / "t", StateFolder(place, "t"))


def test_a_table_of_an_earlier_version_has_no_owner(tmp_path: Path) -> None:
    ensure_table(tmp_path / "t", struct(a="long"))
    reject_other_owner(tmp_path / "t", folder(tmp_path))


def test_the_state_that_began_a_table_goes_on_and_others_are_rejected(
    store_warehouse: S3Location, tmp_path: Path
) -> None:
    table = store_warehouse / "t"
    first, second = folder(tmp_path / "first"), folder(tmp_path / "second")
    reject_other_owner(table, second)
    ensure_table(table, struct(a="long"), properties=owner_properties(first))
    # The second one began it at the same time: its creation had no effect.
    ensure_table(table, struct(a="long"), properties=owner_properties(second))
    reject_other_owner(table, first)
    with pytest.raises(StateError, match=r"was begun with another checkpoint location than .*/second: give that"):
        reject_other_owner(table, second)
    ensure_table(table, struct(a="long", b="string"))
    open_table(table).optimize.compact()
    reject_other_owner(table, first)


def test_a_table_of_another_program_has_no_owner(store_warehouse: S3Location, tmp_path: Path) -> None:
    ensure_table(store_warehouse / "t", struct(a="long"))
    reject_other_owner(store_warehouse / "t", folder(tmp_path))
