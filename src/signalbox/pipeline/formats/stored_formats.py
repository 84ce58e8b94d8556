"""The formats that a table was begun with, beside its state: `.signalbox/<name>/formats.json`.

A later run needs no options of formats: schemas of files are stored with their text, and the columns only grow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.registry import RegistrySettings
from signalbox.pipeline.formats.schema_text import SchemaText

FORMATS_VERSION = 1
_FILE = "formats.json"


def _to_json(spec: PartSpec) -> dict[str, Any]:
    registry = None
    if spec.registry is not None:
        kept = spec.registry.stored()
        registry = {"url": kept.url, "options": dict(kept.options)}
    return {
        "part": spec.part,
        "format": spec.format,
        "columns": list(spec.columns),
        "schema": {
            "text": spec.schema.text,
            "references": [list(pair) for pair in spec.schema.references],
            "message": spec.schema.message,
        },
        "registry": registry,
        "subject": spec.subject,
        "delimiter": spec.delimiter,
    }


def _from_json(content: Mapping[str, Any]) -> PartSpec:
    schema, registry = content["schema"], content["registry"]
    references = tuple((name, text) for name, text in schema["references"])
    return PartSpec(
        part=content["part"],
        format=content["format"],
        columns=tuple(content["columns"]),
        schema=SchemaText(schema["text"], references, schema["message"]),
        registry=RegistrySettings(registry["url"], registry["options"]) if registry else None,
        subject=content["subject"],
        delimiter=content["delimiter"],
    )


def write_formats(folder: Path, specs: tuple[PartSpec, ...]) -> None:
    """Stores the formats of a table, durably; without secrets of a registry's client."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"version": FORMATS_VERSION, "parts": [_to_json(spec) for spec in specs]}
    replace_durably(folder / _FILE, json.dumps(content, indent=1) + "\n")


def read_formats(folder: Path) -> tuple[PartSpec, ...] | None:
    """The stored formats; None if the table has none: it is raw, or JSON read by Spark. Raises ValueError for a file
    that cannot be read."""
    path = folder / _FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        if content["version"] != FORMATS_VERSION:
            raise ValueError(f"version {content['version']}, this program knows {FORMATS_VERSION}")
        return tuple(_from_json(part) for part in content["parts"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}. Restore it from a backup") from error
