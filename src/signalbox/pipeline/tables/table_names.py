"""The names of a pipeline's tables, and whether another pipeline of the warehouse has one of them.

A pipeline `X` writes `X` and `X_dead`, that of the audit trail also a table for each roll-up. Two pipelines with a
table in common would mix their rows, and a replay would move records of one topic into the table of another. So a run
is rejected if another pipeline was begun with such a name, whichever of the two came first, and whether or not a record
has been rejected yet: later runs may need the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.pipeline.audit.rollup_table import ROLLUPS
from signalbox.pipeline.table_state import StateError, StateFolder

_DEAD = "_dead"
_ROLLUPS = tuple(f"_{rollup}" for rollup in ROLLUPS)
_REMEDY = "write this topic in a run of its own, into a table with another --name"
_AUDIT_REMEDY = "write that topic into a table with another --name, or the audit trail into another --warehouse"


def reject_taken_names(warehouse: Path, name: str, *, is_audit: bool) -> None:
    """Raises StateError if a table of the pipeline `name` is also one of another pipeline of the warehouse."""
    if _is_begun(warehouse, f"{name}{_DEAD}"):
        raise StateError(
            f"the rejected records of table {name} would go to {name}{_DEAD}, which is a table of its own: "
            f"{_AUDIT_REMEDY if is_audit else _REMEDY}"
        )
    taken = [f"{name}{rollup}" for rollup in _ROLLUPS if is_audit and _is_begun(warehouse, f"{name}{rollup}")]
    if taken:
        raise StateError(f"the roll-up {taken[0]} would replace the table {taken[0]} of a topic: {_AUDIT_REMEDY}")
    for owner in (name.removesuffix(suffix) for suffix in (_DEAD, *_ROLLUPS) if name.endswith(suffix)):
        if name == f"{owner}{_DEAD}" and _is_begun(warehouse, owner):
            raise StateError(f"{name} is the table of the rejected records of table {owner}: {_REMEDY}")
        if name != f"{owner}{_DEAD}" and _is_audit(warehouse, owner):
            raise StateError(f"{name} is a roll-up of the audit trail in table {owner}: {_AUDIT_REMEDY}")


def taken_in_run(warehouse: Path, names: Iterable[str]) -> dict[str, str]:
    """Of the new tables of one run, those whose name is that of another one's rejected records: name → the fault."""
    all_names = set(names)
    owners = {name: name.removesuffix(_DEAD) for name in all_names if name.endswith(_DEAD)}
    return {
        name: f"{name} is the table of the rejected records of table {owner}: {_REMEDY}"
        for name, owner in sorted(owners.items())
        if owner in all_names and not _is_begun(warehouse, name)
    }


def _is_begun(warehouse: Path, name: str) -> bool:
    return bool(name) and (StateFolder(warehouse, name).path / "state.json").is_file()


def _is_audit(warehouse: Path, name: str) -> bool:
    if not _is_begun(warehouse, name):
        return False
    folder = StateFolder(warehouse, name)
    state = folder.read()
    return (state is not None and state.topic == AUDIT_TOPIC) or (folder.path / "rollups").is_dir()
