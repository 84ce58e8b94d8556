"""Records that the topic's retention deleted before a run read them: which, in words, and noted beside the table.

Arithmetic and one file, `<warehouse>/.signalbox/<name>/gaps.json`: without Spark and without a client. Compaction and
markers of transactions leave holes in the offsets too, but never before the earliest offset of a partition. So
what lies between the next offset of a run and the earliest one of the topic is lost, however it is read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.table_state import StateError

_FILE = "gaps.json"
Ranges = Mapping[str, tuple[int, int]]  # {"topic:partition": (first offset, offset behind the last one)}


def lost_ranges(position: Mapping[str, int], earliest: Mapping[str, int], limit: Mapping[str, int] | None) -> Ranges:
    """The offsets from a run's next ones to the earliest ones that the topic has. Partitions that `position` does not
    have are new and begin at 0. `limit`: the offsets at which the run ends, of the partitions that it reads."""
    ends = earliest if limit is None else {where: min(earliest.get(where, 0), end) for where, end in limit.items()}
    ranges = {where: (position.get(where, 0), end) for where, end in ends.items()}
    return {where: (first, end) for where, (first, end) in sorted(ranges.items()) if end > first}


def ranges_text(lost: Ranges) -> str:
    """`partition 0, offsets 10 to 14; partition 3, offset 7`."""
    parts = []
    for where, (first, end) in lost.items():
        offsets = f"offset {first}" if end == first + 1 else f"offsets {first} to {end - 1}"
        parts.append(f"partition {where.rpartition(':')[2]}, {offsets}")
    return "; ".join(parts)


def loss_text(topic: str, lost: Ranges) -> str:
    """The error of a run that may not pass over lost records."""
    return (
        f"records of topic {topic} were deleted before they were read: {ranges_text(lost)}. The run ends because it "
        "would skip them silently; with --no-fail-on-data-loss it notes the gap and goes on at the earliest offset"
    )


@dataclass(frozen=True, slots=True)
class Gap:
    """Records that a table will never have. `batch`: the batch that passed over them, with the folder of its
    checkpoint."""

    batch: str
    ranges: dict[str, tuple[int, int]]
    at_ms: int


def read_gaps(folder: Path) -> list[Gap]:
    """The gaps of the table whose state is in the folder, oldest first. Raises StateError if the file is corrupt."""
    path = folder / _FILE
    if not path.is_file():
        return []
    try:
        entries = json.loads(path.read_bytes())
        return [
            Gap(
                batch=str(entry["batch"]),
                ranges={where: (int(first), int(end)) for where, (first, end) in entry["ranges"].items()},
                at_ms=int(entry["at_ms"]),
            )
            for entry in entries
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise StateError(f"{path} cannot be read: {error}. Restore the warehouse from a backup") from error


def note_gap(folder: Path, batch: str, lost: Ranges) -> None:
    """Notes a gap, durably, before its batch is committed: a batch that is repeated replaces its own note."""
    gaps = [gap for gap in read_gaps(folder) if gap.batch != batch]
    gaps.append(Gap(batch, dict(lost), int(time.time() * 1000)))
    replace_durably(folder / _FILE, json.dumps([asdict(gap) for gap in gaps], indent=1) + "\n")
