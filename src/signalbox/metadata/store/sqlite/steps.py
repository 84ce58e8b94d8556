"""Converts operations of the port into rows for `steps.sql`, and words that its triggers raise into the port's errors.

A row is [kind, path, parent, data, expected_version, of_session, numbered, session_id, now_ms].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from signalbox.common.cooperative_task import yielding
from signalbox.metadata.store.port import (
    Check,
    CommitRejected,
    Create,
    Delete,
    Fence,
    FencedOut,
    KeyExists,
    KeyHasChildren,
    KeyMissing,
    Operation,
    ParentOfSession,
    SessionLost,
    StoreError,
    VersionConflict,
    Write,
    parent_of,
    reject_bad_operation,
)

Step = list[object]


def begin(session_id: int, fence: Fence | None = None, only_check: bool = False) -> Step:
    """The first step of every commit. `session_id` 0: the writer needs no session. `only_check`: no step follows."""
    path, version = (fence.path, fence.version) if fence else (None, None)
    return ["begin", path, None, None, version, 0, int(not only_check), session_id, 0]


def join(file_name: str) -> Step:
    """Add a session."""
    return ["join", file_name, None, None, None, 0, 0, 0, 0]


def leave(session_id: int) -> Step:
    """End a session and delete its entries."""
    return ["leave", "", None, None, session_id, 0, 0, 0, 0]


def steps_of(operations: Iterable[Operation], session_id: int, now_ms: int) -> list[Step]:
    """Operations as steps. BadOperation for one that not every engine supports. Yields."""
    steps = []
    for operation in yielding(operations):
        reject_bad_operation(operation)
        steps.append(step_of(operation, session_id, now_ms))
    return steps


def step_of(operation: Operation, session_id: int, now_ms: int) -> Step:
    """One operation as a step."""
    path, parent = operation.path, parent_of(operation.path)
    match operation:
        case Create(data=data, of_session=of_session, numbered=numbered):
            return ["create", path, parent, _text(data), None, int(of_session), int(numbered), session_id, now_ms]
        case Write(data=data, expected_version=version):
            return ["write", path, parent, _text(data), version, 0, 0, session_id, now_ms]
        case Delete(expected_version=version):
            return ["delete", path, parent, None, version, 0, 0, session_id, now_ms]
        case Check(expected_version=version):
            return ["check", path, parent, None, version, 0, 0, session_id, now_ms]


def rejection(
    reason: str, operations: Sequence[Operation], fence: Fence | None, versions: Mapping[str, int | None]
) -> StoreError:
    """The port's error for a trigger's word. `versions` (of the operations' paths, read after the rejection) serve to
    find the entry to name. It may be the wrong one, if another commit came in between."""
    if reason == "session_lost":
        return SessionLost("the session has ended")
    if reason == "fenced":
        path = fence.path if fence else ""
        return FencedOut(path, "the fence has moved: another writer took over")
    kind, problem, is_culprit = _REJECTIONS[reason]
    known = dict(versions)
    for operation in operations:
        if is_culprit(operation, known):
            return kind(operation.path, problem)
        match operation:
            case Create(path=path):
                known[path] = 0
            case Write(path=path):
                known[path] = (known.get(path) or 0) + 1
            case Delete(path=path):
                known[path] = None
    return kind(operations[0].path if operations else "", problem)


_Versions = Mapping[str, "int | None"]


def _exists(operation: Operation, versions: _Versions) -> bool:
    return isinstance(operation, Create) and versions.get(operation.path) is not None


def _is_missing(operation: Operation, versions: _Versions) -> bool:
    return not isinstance(operation, Create) and versions.get(operation.path) is None


def _lacks_parent(operation: Operation, versions: _Versions) -> bool:
    return isinstance(operation, Create) and versions.get(parent_of(operation.path)) is None


def _conflicts(operation: Operation, versions: _Versions) -> bool:
    if isinstance(operation, Create) or operation.expected_version is None:
        return False
    return versions.get(operation.path) != operation.expected_version


def _is_create(operation: Operation, versions: _Versions) -> bool:
    return isinstance(operation, Create)


def _is_delete(operation: Operation, versions: _Versions) -> bool:
    return isinstance(operation, Delete)


_REJECTIONS: dict[str, tuple[type[CommitRejected], str, Callable[[Operation, _Versions], bool]]] = {
    "key_exists": (KeyExists, "exists already", _exists),
    "key_missing": (KeyMissing, "no such entry", _is_missing),
    "parent_missing": (KeyMissing, "its parent does not exist", _lacks_parent),
    "parent_of_session": (ParentOfSession, "an entry of a session has no children", _is_create),
    "version_conflict": (VersionConflict, "the version is not the expected one", _conflicts),
    "key_has_children": (KeyHasChildren, "has children", _is_delete),
}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
