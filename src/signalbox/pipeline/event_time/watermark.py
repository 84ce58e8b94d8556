"""The watermark of each batch: the greatest event time of the earlier batches less the delay. It never goes back.

`<warehouse>/.signalbox/<name>/watermark.json` holds the watermark of the newest batch and the greatest event time up to
its end. It is written before the tables of the batch are committed, so a batch that is repeated has the watermark that
it had, and rejects the same rows. One batch is enough: only the newest can be repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.table_state import StateError, read_state_file

FILE = "watermark.json"


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """`watermark_us`: the watermark of a batch, `greatest_us`: the greatest event time up to its end; in microseconds
    since 1970, None = no row had an event time before."""

    batch_id: int
    watermark_us: int | None
    greatest_us: int | None

    def commit_metadata(self) -> Mapping[str, int | None]:
        """The same for the user metadata of the table's commits."""
        return {"watermark_us": self.watermark_us, "greatest_event_time_us": self.greatest_us}


def begin_batch(stored: BatchTimes | None, batch_id: int, delay_us: int) -> BatchTimes:
    """The watermark of a batch, before it is read; `stored` is that of the newest batch, maybe this one. Raises
    ValueError if batches are missing between them."""
    if stored is None and batch_id == 0:
        return BatchTimes(0, None, None)
    if stored is None or stored.batch_id not in (batch_id - 1, batch_id):
        raise ValueError(f"it has the watermark of batch {stored.batch_id if stored else None}, next is {batch_id}")
    if stored.batch_id == batch_id:
        return stored
    reached = [stored.watermark_us] if stored.watermark_us is not None else []
    if stored.greatest_us is not None:
        reached.append(stored.greatest_us - delay_us)
    return BatchTimes(batch_id, max(reached, default=None), stored.greatest_us)


def end_batch(batch: BatchTimes, greatest_us: int | None) -> BatchTimes:
    """The batch after it was read; `greatest_us` is the greatest event time of its rows, None = none had one."""
    if greatest_us is None:
        return batch
    greatest = greatest_us if batch.greatest_us is None else max(batch.greatest_us, greatest_us)
    return BatchTimes(batch.batch_id, batch.watermark_us, greatest)


def read_times(folder: Path) -> BatchTimes | None:
    """The times of the newest batch; None = no batch was read. Raises StateError if the file is corrupt."""
    path = folder / FILE
    if not path.is_file():
        return None
    content = read_state_file(path)
    try:
        return BatchTimes(content["batch_id"], content["watermark_us"], content["greatest_us"])
    except KeyError as error:
        raise StateError(f"{path} cannot be read: {error} is missing. Restore the warehouse from a backup") from error


def times_of_batch(folder: Path, batch_id: int, delay_us: int) -> BatchTimes:
    """The stored times with which a batch begins. Raises StateError if the file does not belong to the checkpoint."""
    try:
        return begin_batch(read_times(folder), batch_id, delay_us)
    except ValueError as error:
        raise StateError(
            f"{folder / FILE} does not belong to the checkpoint: {error}. Restore the warehouse from a backup"
        ) from error


def write_times(folder: Path, times: BatchTimes) -> None:
    """Stores the times of a batch, atomically and on disk."""
    replace_durably(folder / FILE, json.dumps(asdict(times)))
