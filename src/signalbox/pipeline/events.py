"""What a run tells while it works: a few plain events, for progress lines, for metrics and for tests that kill it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """The steps of a batch, in their order."""

    BATCH_STARTED = "batch_started"
    BATCH_READ = "batch_read"  # read and parsed; not told for tables without a schema, which stream straight through
    TABLE_COMMITTED = "table_committed"  # once per table: dead first, then the good rows
    BATCH_DONE = "batch_done"  # all tables hold the batch; Spark's own commit follows
    WAITING = "waiting"  # nothing to do, or a long batch: told every few seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEvent:
    """One step of one batch. `consumed_records` and `known_records`: offsets since the table's beginning, where the
    batch ends and where the topic ended when last looked at. `skipped`: the table held the batch already (a run died
    between the table's commit and Spark's own)."""

    step: Step
    pipeline: str
    batch_id: int
    table: str = ""
    rows: int = -1
    dead_rows: int = -1
    skipped: bool = False
    seconds: float = 0.0
    consumed_records: int = -1
    known_records: int = -1


EventListener = Callable[[PipelineEvent], None]


@dataclass(frozen=True, slots=True)
class Reporting:
    """Where a run's news go: `say` takes lines for people, `listener` every event."""

    say: Callable[[str], None] = print
    listener: EventListener | None = None
