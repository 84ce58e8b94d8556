"""What a run has to do, and its counts: one table, how it was begun, how records become its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.positions.backfill_log import Backfill
from signalbox.pipeline.sinks.table_sink import TableTarget, transaction_app
from signalbox.pipeline.table_state import StateFolder, TableState
from signalbox.pipeline.tables.projection import RecordShape


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What a batch wrote. `rows`: None = the table held the batch already. `dead`: rejected records, `late`: those of
    them that are late. `duplicates`: rows that were dropped because they repeat others."""

    rows: int | None
    dead: int = 0
    late: int = 0
    duplicates: int = 0


@dataclass(slots=True)
class RunCounts:
    """Counts of a run. `late_rows` are among `dead_rows`."""

    batches: int = 0
    repeated_batches: int = 0
    rows: int = 0
    dead_rows: int = 0
    late_rows: int = 0
    duplicate_rows: int = 0
    seconds: float = 0.0

    def add(self, batch: WrittenRows) -> None:
        """Counts a batch."""
        self.batches += 1
        self.repeated_batches += batch.rows is None
        self.rows += batch.rows or 0
        self.dead_rows += batch.dead
        self.late_rows += batch.late
        self.duplicate_rows += batch.duplicates


@dataclass(frozen=True, slots=True)
class TableJob:
    """The job: how the table was begun, where its state is stored, how records become rows.

    `follow`: gives the shape that the schemas require now; None = the shape does not change. `store`: called with a
    shape when the tables have its columns. With `backfill`, the job is to add that range to the table.
    """

    folder: StateFolder
    state: TableState
    shape: RecordShape
    follow: Callable[[RecordShape], RecordShape] | None = None
    store: Callable[[StateFolder, RecordShape], None] | None = None
    backfill: Backfill | None = None
    partition_by: tuple[str, ...] = ()  # of a new table

    @property
    def checkpoint(self) -> Path:
        """The folder of the planned and committed batches."""
        return self.folder.path / self.backfill.folder if self.backfill else self.folder.checkpoint

    @property
    def begin(self) -> dict[str, int]:
        """The first offset of each partition."""
        return self.backfill.start if self.backfill else self.state.begin

    @property
    def application(self) -> str:
        """The first part of the name of its transactions: batches of a backfill have numbers of their own."""
        return f"{self.name}/{self.backfill.folder}" if self.backfill else self.name

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def topic(self) -> str:
        return self.state.topic

    def target(self, warehouse: TableLocation, table: str) -> TableTarget:
        """One of its tables, with the name under which its batches are in the table's log."""
        app = transaction_app(self.application, self.state.generation, table)
        return TableTarget((warehouse / table).absolute(), app)
