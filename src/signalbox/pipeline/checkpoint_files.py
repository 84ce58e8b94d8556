"""Reads the files of Spark's checkpoint: which batch is planned, which is committed, from which to which offsets.

`offsets/N` is written before batch N runs, `commits/N` after it; the offsets are one JSON line per source. The formats
of both profiles are read: the connector's `{"flights": {"0": 5}}` and ours, `{"flights:0": 5, "flights": "<id>"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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
    """The offsets at which a planned batch ends, {} if the checkpoint does not have the batch."""
    path = checkpoint / "offsets" / str(batch_id)
    if not path.is_file():
        return {}
    lines = path.read_text().splitlines()
    return flat_offsets(json.loads(lines[2])) if len(lines) > 2 and lines[2].startswith("{") else {}


def nested_offsets(flat: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Flat offsets in the connector's format."""
    nested: dict[str, dict[str, int]] = {}
    for where, offset in flat.items():
        topic, _, partition = where.rpartition(":")
        nested.setdefault(topic, {})[partition] = offset
    return nested
