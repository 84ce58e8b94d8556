"""Progress lines for a person who waits: a line per batch, and a line now and then during a long batch."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.pipeline.events import PipelineEvent, Step


def duration_text(seconds: float) -> str:
    """12 s, 3 min 05 s, 2 h 10 min."""
    seconds_rounded = round(seconds)
    if seconds_rounded < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds_rounded} s"
    if seconds_rounded < 3600:
        return f"{seconds_rounded // 60} min {seconds_rounded % 60:02d} s"
    return f"{seconds_rounded // 3600} h {seconds_rounded % 3600 // 60:02d} min"


def share_text(consumed: int, total: int) -> str:
    """The share of the topic that is in the table."""
    if total <= 0:
        return "topic is empty"
    return f"{consumed:,} of {total:,} records ({100 * consumed // total} %)"


class ProgressLines:
    """Turns events into lines. One per pipeline run."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._records = 0
        self._seconds = 0.0

    def __call__(self, event: PipelineEvent) -> None:
        line = self.line(event)
        if line is not None:
            self._say(line)

    def line(self, event: PipelineEvent) -> str | None:
        """The line for an event; None for steps that need none."""
        head = f"{event.pipeline}: batch {event.batch_id}"
        if event.step == Step.BATCH_DONE:
            return f"{head}  {self._done(event)}"
        if event.step == Step.TABLE_COMMITTED and event.skipped:
            return f"{head}  {event.table} holds it already (a run died after that commit): not repeated"
        if event.step == Step.RECORDS_LOST:
            return f"{head}  GAP: records were deleted before they were read, the table will lack them: {event.detail}"
        if event.step == Step.WAITING and event.batch_id < 0:
            return f"{event.pipeline}: starting"
        if event.step == Step.WAITING and event.consumed_records < event.known_records:
            share = share_text(event.consumed_records, event.known_records)
            return f"{head}  working for {duration_text(event.seconds)}, reading up to {share}"
        return None

    def _done(self, event: PipelineEvent) -> str:
        rows = event.rows + event.dead_rows + max(0, event.duplicate_rows)
        self._records += rows
        self._seconds += event.seconds
        parts = [f"{event.rows:,} rows"]
        bad, late = event.dead_rows - max(0, event.late_rows), max(0, event.late_rows)
        for records, meaning in (
            (bad, "bad records kept aside"),
            (late, "late records kept aside"),
            (event.duplicate_rows, "duplicates dropped"),
        ):
            if records > 0:
                parts.append(f"{records:,} {meaning}")
        parts.append(duration_text(event.seconds))
        if event.seconds > 0 and rows:
            parts.append(f"{rows / event.seconds:,.0f} records/s")
        parts.append(share_text(event.consumed_records, event.known_records))
        remaining = event.known_records - event.consumed_records
        if remaining > 0 and self._records:
            parts.append(f"about {duration_text(remaining * self._seconds / self._records)} to go")
        return ", ".join(parts)
