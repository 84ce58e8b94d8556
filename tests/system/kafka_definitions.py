"""Apache Kafka's own message definitions, from its jars: the reference for our message tables.

Kafka 4.4.0 is the reference. What it has removed (requests between ZooKeeper-era controllers and brokers, old versions)
is as in 3.9.2, the last release that has it.
"""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from signalbox.protocol.codec.layout import FieldLayout, StructLayout
from signalbox.protocol.schema import NO_VERSIONS, VersionRange
from tests.system.provision import jars

_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_FOLDER = "common/message/"
_REMOVED = "none"


@cache
def kafka_4_4() -> dict[str, dict[str, Any]]:
    """Every definition of Kafka 4.4.0 by the message's name."""
    return _definitions(Path(jars("kafka44")).parent)


@cache
def kafka_3_9() -> dict[str, dict[str, Any]]:
    """Every definition of Kafka 3.9.2 by the message's name."""
    return _definitions(Path(jars("kafka39")).parent)


def _definitions(libraries: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for jar in sorted(libraries.glob("kafka*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith(_FOLDER) and name.endswith(".json"):
                    definition: dict[str, Any] = json.loads(_COMMENT.sub("", archive.read(name).decode()))
                    if definition["validVersions"] != _REMOVED:
                        found[definition["name"]] = definition
    return found


class Definition:
    """Kafka's definition, reduced at one version to rows as `our_rows` makes them."""

    def __init__(self, definition: dict[str, Any]) -> None:
        self.api_key: int | None = definition.get("apiKey") if definition["type"] in ("request", "response") else None
        self.versions = VersionRange.parse(definition["validVersions"])
        self.flexible = VersionRange.parse(definition.get("flexibleVersions", "none"))
        self.stable = VersionRange(
            self.versions.lowest, self.versions.highest - bool(definition.get("latestVersionUnstable"))
        )
        self._fields: list[dict[str, Any]] = definition["fields"]
        self._shared = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}

    def rows(self, version: int) -> list[Any]:
        return self._rows(self._fields, version)

    def _rows(self, fields: list[dict[str, Any]], version: int) -> list[Any]:
        present = [field for field in fields if version in VersionRange.parse(_versions(field))]
        tagged = [field for field in present if _is_tagged(field, version)]
        plain = [field for field in present if not _is_tagged(field, version)]
        return [self._row(field, version) for field in (*plain, *sorted(tagged, key=lambda field: field["tag"]))]

    def _row(self, field: dict[str, Any], version: int) -> tuple[Any, ...]:
        type_name = field["type"].removeprefix("[]")
        inner = field.get("fields") or self._shared.get(type_name)
        nullable = VersionRange.parse(field.get("nullableVersions", "none"))
        return (
            field["name"],
            field["type"],
            version in nullable,
            field["tag"] if _is_tagged(field, version) else None,
            _plain_default(field, nullable),
            str(field.get("ignorable", False)).lower() == "true",
            self._rows(inner, version) if inner is not None else None,
        )


def _versions(field: dict[str, Any]) -> str:
    return str(field.get("versions") or field["taggedVersions"])


def _is_tagged(field: dict[str, Any], version: int) -> bool:
    return version in VersionRange.parse(field.get("taggedVersions", "none"))


def _plain_default(field: dict[str, Any], nullable: VersionRange) -> Any:
    """Kafka's rule for a field without a value, in our terms: () = a new array or a struct of defaults."""
    text = str(field.get("default", "")) if field.get("default", "") is not None else "null"
    type_name = field["type"]
    if text == "null" or (type_name == "records" and nullable != NO_VERSIONS):
        return None
    if type_name.startswith("[]") or type_name[0].isupper():
        return ()
    if type_name == "bool":
        return text.lower() == "true"
    if type_name in ("string", "bytes", "uuid", "records"):
        return {"string": text, "bytes": b"", "records": b"", "uuid": bytes(16)}[type_name]
    return float(text or 0) if type_name == "float64" else int(text or "0", 0)


def our_rows(layout: StructLayout) -> list[Any]:
    """Our table at one version: name, type, null, tag, default, ignorable, fields."""
    return [_our_row(field) for field in (*layout.fields, *layout.tagged)]


def _our_row(field: FieldLayout) -> tuple[Any, ...]:
    return (
        field.spec.name,
        f"[]{field.type_name}" if field.is_array else field.type_name,
        field.nullable,
        field.spec.tag,
        field.spec.default,
        field.spec.ignorable,
        our_rows(field.struct) if field.struct is not None else None,
    )
