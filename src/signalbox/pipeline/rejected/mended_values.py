"""Values that were mended by hand: a file of JSON lines that `rejected show --json` writes and a person changes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from signalbox.pipeline.rejected.listing import RejectedRecords
from signalbox.pipeline.rejected.replay_plan import Position, positions_of


class MendedValueError(RuntimeError):
    """A file of mended values that cannot be used."""


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return str(value["text"]).encode()
    return base64.b64decode(value["base64"], validate=True)


def read_mended(path: Path) -> dict[Position, bytes | None]:
    """The values by topic, partition and offset. Raises MendedValueError naming the line."""
    mended: dict[Position, bytes | None] = {}
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MendedValueError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            mended[str(row["topic"]), int(row["partition"]), int(row["offset"])] = _bytes(row["value"])
        except (ValueError, KeyError, TypeError, binascii.Error) as error:
            raise MendedValueError(
                f"{path}, line {number}: {type(error).__name__}: {error}; each line has topic, partition, offset and "
                'value, which is null, {"text": ...} or {"base64": ...}'
            ) from error
    return mended


def unknown_positions(mended: Mapping[Position, bytes | None], rejected: RejectedRecords) -> list[Position]:
    """The positions of mended values at which there is no rejected record, in order."""
    unknown = set(mended)
    if unknown:
        for part in rejected.positions():
            unknown.difference_update(positions_of(part))
    return sorted(unknown)


def with_mended(records: pa.Table, mended: Mapping[Position, bytes | None]) -> pa.Table:
    """The records with the mended values in place of theirs."""
    positions = positions_of(records)
    if mended.keys().isdisjoint(positions):
        return records
    changed = [mended.get(position, value.as_py()) for position, value in zip(positions, records.column("value"))]
    index = records.schema.get_field_index("value")
    return records.set_column(index, "value", pa.array(changed, records.schema.field("value").type))
