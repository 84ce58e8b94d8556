"""Reads the files of Spark's checkpoint: which batch is planned, which is committed, from which to which offsets.

`offsets/N` is written before batch N runs, `commits/N` after it; the offsets are one JSON line per source. The formats
of both profiles are read: the connector's `{"flights": {"0": 5}}` and ours, `{"flights:0": 5, "flights": "<id>"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class CheckpointError(RuntimeError):
    """A file of a checkpoint that is corrupt."""


def _batches(directory: Path) -> list[int]:
    return sorted(int(path.name) for path in directory.glob("*") if path.name.isdigit())


def planned_batches(checkpoint: Path) -> list[int]:
    """The planned batches, oldest first (Spark deletes old ones)."""
    return _batches(checkpoint / "offsets")


def committed_batches(checkpoint: Path) -> list[int]:
    """The batches that Spark itself has committed, oldest first."""
    return _batches(checkpoint / "commits")


def flat_offsets(source: Mapping[str, Any]) -> dict[str, int]:
    """Offsets of either format as {"topic:partition": next offset}."""
    flat: dict[str, int] = {}
    for key, value in source.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}:{partition}": int(offset) for partition, offset in value.items()})
        elif ":" in key:
            flat[key] = int(value)
    return flat


def batch_end(checkpoint: Path, batch_id: int) -> dict[str, int]:
    """The offsets at which a planned batch ends, {} if the checkpoint does not have it. Raises CheckpointError."""
    path = checkpoint / "offsets" / str(batch_id)
    if not path.is_file():
        return {}
    try:
        lines = path.read_text().splitlines()
        if len(lines) < 3:
            raise ValueError(f"it has {len(lines)} lines of 3")
        # Spark writes "-" for a source without an offset.
        return flat_offsets(json.loads(lines[2])) if lines[2] != "-" else {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path} cannot be read: {error}. Restore the folder {checkpoint} from a backup, or remove it and the "
            "table to read the topic from its beginning again"
        ) from error


def nested_offsets(flat: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Flat offsets in the connector's format."""
    nested: dict[str, dict[str, int]] = {}
    for where, offset in flat.items():
        topic, _, partition = where.rpartition(":")
        nested.setdefault(topic, {})[partition] = offset
    return nested
