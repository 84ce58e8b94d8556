"""Operations become rows, and the messages of the triggers become the port's errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.metadata.store import port
from signalbox.metadata.store.port import Check, Create, Delete, Fence, Write
from signalbox.metadata.store.sqlite import steps
from signalbox.metadata.store.sqlite.steps import begin, rejection, step_of, steps_of


def test_rows_of_every_operation() -> None:
    assert begin(3, Fence("/e", 2)) == ["begin", "/e", None, None, 2, 0, 1, 3, 0]
    assert begin(3, only_check=True) == ["begin", None, None, None, None, 0, 0, 3, 0]
    assert step_of(Create("/a/b", b"x", of_session=True, numbered=True), 3, 9) == [
        "create", "/a/b", "/a", "x", None, 1, 1, 3, 9,
    ]  # fmt: skip
    assert step_of(Write("/a", None, 4), 3, 9) == ["write", "/a", "/", None, 4, 0, 0, 3, 9]
    assert step_of(Delete("/a"), 3, 9) == ["delete", "/a", "/", None, None, 0, 0, 3, 9]
    assert step_of(Check("/a", 5), 3, 9) == ["check", "/a", "/", None, 5, 0, 0, 3, 9]


def test_many_operations_are_converted_in_slices_and_rejected_one_by_one() -> None:
    operations = [Create(f"/{number}") for number in range(3)]
    made: list[list[object]] = []
    task, switches = CooperativeTask(lambda: made.extend(steps_of(operations, 3, 9))), 0
    while not task.dead:
        task.switch()
        switches += 1
    assert made == [step_of(operation, 3, 9) for operation in operations]
    assert switches == 4
    with pytest.raises(port.BadOperation, match="is not a path"):
        steps_of([Create("/a"), Create("a")], 3, 9)


@pytest.mark.parametrize(
    ("reason", "operations", "versions", "error", "path"),
    [
        ("key_exists", [Create("/new"), Create("/old")], {"/new": None, "/old": 3}, port.KeyExists, "/old"),
        ("key_exists", [Create("/a"), Create("/a")], {"/a": None}, port.KeyExists, "/a"),
        ("key_missing", [Create("/a"), Write("/a", b""), Delete("/b")], {"/b": None}, port.KeyMissing, "/b"),
        ("parent_missing", [Create("/a/b")], {"/a": None}, port.KeyMissing, "/a/b"),
        ("version_conflict", [Write("/a", b"", 1), Write("/a", b"", 1)], {"/a": 1}, port.VersionConflict, "/a"),
        ("key_has_children", [Delete("/a")], {"/a": 0}, port.KeyHasChildren, "/a"),
        ("parent_of_session", [Create("/s/a")], {}, port.ParentOfSession, "/s/a"),
        ("version_conflict", [Write("/a", b"", 1)], {"/a": 1}, port.VersionConflict, "/a"),
    ],
)
def test_rejections_name_the_entry(
    reason: str,
    operations: list[port.Operation],
    versions: dict[str, int | None],
    error: type[port.CommitRejected],
    path: str,
) -> None:
    made = rejection(reason, operations, None, versions)
    assert type(made) is error
    assert made.path == path


def test_sessions_and_fences() -> None:
    assert isinstance(rejection("session_lost", [], None, {}), port.SessionLost)
    fenced = rejection("fenced", [], Fence("/controller_epoch", 1), {})
    assert isinstance(fenced, port.FencedOut)
    assert fenced.path == "/controller_epoch"


def test_every_word_of_the_triggers_has_an_error() -> None:
    sql = Path(steps.__file__).with_name("steps.sql").read_text()
    for word in set(re.findall(r"RAISE\(ABORT, '(\w+)'\)", sql)):
        assert isinstance(rejection(word, [Create("/a")], None, {}), port.StoreError)
