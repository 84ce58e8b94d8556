"""API of the maintenance of tables for the command line. Importing it loads neither delta-rs nor Arrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from signalbox.pipeline.commands import _needs_the_extra

if TYPE_CHECKING:
    from signalbox.pipeline.maintenance.maintain import TableMaintenance


def maintain_table(
    warehouse: Path, name: str, target_mb: int, retention_hours: int, say: Callable[[str], None]
) -> list[TableMaintenance]:
    """Maintains a table and the table of its rejected records, see `maintain.py`."""
    with _needs_the_extra():
        from signalbox.pipeline.maintenance import maintain

    return maintain.maintain_table(warehouse, name, target_mb=target_mb, retention_hours=retention_hours, say=say)
