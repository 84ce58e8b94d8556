"""API of the rejected records for the command line. Importing it loads neither Spark nor Arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signalbox.pipeline.commands import _needs_the_extra
from signalbox.pipeline.options import TablesOptions

if TYPE_CHECKING:
    from signalbox.pipeline.rejected.replay import ReplayResult


def list_rejected(warehouse: Path, name: str) -> list[dict[str, Any]]:
    """The reasons of a table's rejected records: number, and the first record. Raises StateError."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import listing

    return [asdict(count) for count in listing.count_reasons(listing.read_rejected(warehouse, name))]


def show_rejected(
    warehouse: Path, name: str, limit: int, partition: int | None, offset: int | None
) -> list[dict[str, Any]]:
    """Rejected records with their bytes. Raises StateError."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import listing

    return listing.shown(listing.read_rejected(warehouse, name), limit, partition=partition, offset=offset)


def replay_rejected(options: TablesOptions, mended: Path | None, say: Callable[[str], None]) -> ReplayResult:
    """Replays the rejected records of a table, see `replay.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.rejected import replay

    return replay.replay_rejected(options, mended, say=say)
