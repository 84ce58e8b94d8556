"""The backfills of a table, in `<warehouse>/.signalbox/<name>/backfills.json`.

A backfill is written here before its first record is read. If its run dies, the next one finds it here and completes
it; its records count as the table's from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.positions.coverage import Span
from signalbox.pipeline.table_state import StateError

FILE = "backfills.json"


@dataclass(frozen=True, slots=True)
class Backfill:
    """One range that was added, or is being added, to a table."""

    number: int
    start: dict[str, int]
    end: dict[str, int]
    done: bool = False

    @property
    def span(self) -> Span:
        """Its records."""
        return Span(self.start, self.end)

    @property
    def folder(self) -> str:
        """The name of its folder in the folder of the table's state."""
        return f"backfill-{self.number}"


def read_backfills(folder: Path) -> list[Backfill]:
    """All backfills of the table. Raises StateError if the file is corrupt."""
    path = folder / FILE
    if not path.is_file():
        return []
    try:
        return [Backfill(**entry) for entry in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError) as error:
        raise StateError(f"{path} cannot be read: {error}. Restore the warehouse from a backup") from error


def add_backfills(folder: Path, spans: Sequence[Span]) -> list[Backfill]:
    """Writes new backfills and returns all that are not done, the older ones first."""
    known = read_backfills(folder)
    fresh = [
        Backfill(number, dict(span.start), dict(span.end)) for number, span in enumerate(spans, start=len(known) + 1)
    ]
    if fresh:
        _write(folder, [*known, *fresh])
    return [backfill for backfill in (*known, *fresh) if not backfill.done]


def mark_done(folder: Path, number: int) -> None:
    """Notes that the table has all records of the backfill."""
    _write(folder, [replace(each, done=each.done or each.number == number) for each in read_backfills(folder)])


def _write(folder: Path, backfills: Sequence[Backfill]) -> None:
    # A power loss must not take it back: the table may hold rows of its transaction, whose number would be given twice.
    replace_durably(folder / FILE, json.dumps([asdict(backfill) for backfill in backfills], indent=1) + "\n")
