"""Values that were mended by hand: a file of JSON lines that `rejected show --json` writes and a person changes."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

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


def with_mended(rejected: pa.Table, mended: Mapping[Position, bytes | None]) -> pa.Table:
    """The records with the mended values in place of theirs. Raises MendedValueError naming a record that is not
    among the rejected ones."""
    positions = positions_of(rejected)
    unknown = sorted(set(mended) - set(positions))
    if unknown:
        topic, partition, offset = unknown[0]
        raise MendedValueError(f"topic {topic}, partition {partition}, offset {offset} is no rejected record")
    values = rejected.column("value").to_pylist()
    changed = [mended.get(position, value) for position, value in zip(positions, values)]
    index = rejected.schema.get_field_index("value")
    return rejected.set_column(index, "value", pa.array(changed, rejected.schema.field("value").type))
