"""Events that a run reports while it works: for progress lines, for metrics and for tests that kill the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """The steps of a batch, in their order."""

    BATCH_STARTED = "batch_started"
    BATCH_READ = "batch_read"  # read and parsed; not reported for tables without a schema (records are not cached)
    TABLE_COMMITTED = "table_committed"  # once per table: first the dead records, then the good rows
    BATCH_DONE = "batch_done"  # all tables hold the batch; Spark's own commit follows
    RECORDS_LOST = "records_lost"  # the topic's retention was faster: the batch passes over records, `detail` has which
    WAITING = "waiting"  # nothing to do, or a long batch: reported every few seconds
    SCHEMA_CHANGED = "schema_changed"  # a column was added, widened or is no longer declared; once per change
    TYPE_CHANGED = "type_changed"  # a type changed and its column does not follow; once per change


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEvent:
    """One step of one batch. `consumed_records` and `known_records`: offsets since the table's beginning, up to the end
    of the batch and up to the last known end of the topic. `late_rows` are among `dead_rows`. `skipped`: the
    table held the batch already (a run died between the table's commit and Spark's own). `detail`: what was lost or
    changed, in words."""

    step: Step
    pipeline: str
    batch_id: int
    table: str = ""
    rows: int = -1
    dead_rows: int = -1
    late_rows: int = -1
    duplicate_rows: int = -1
    skipped: bool = False
    seconds: float = 0.0
    consumed_records: int = -1
    known_records: int = -1
    detail: str = ""


EventListener = Callable[[PipelineEvent], None]


@dataclass(frozen=True, slots=True)
class Reporting:
    """Receivers of a run's reports: `say` takes lines for people, `listener` takes every event."""

    say: Callable[[str], None] = print
    listener: EventListener | None = None
