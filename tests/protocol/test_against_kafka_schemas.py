"""Each of our schemas against Apache Kafka's own definitions, kept beside the repository as reference data.

For every message and version that both describe: the same fields in the same order with the same types,
nullability, defaults, tags and leniency. The folder is found by SIGNALBOX_KAFKA_MESSAGES or as
`../shared/kafka-messages`; where it is absent these tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from signalbox.protocol.layout import FieldLayout, StructLayout, layout_of
from signalbox.protocol.schema import NO_VERSIONS, VersionRange
from signalbox.protocol.schema_text import parse_message
from tests.protocol.arbitrary import ALL_MESSAGES

FOLDERS = ("2026-08", "2024-10", "storage-records")
SEED = "002_1ce61c09b5a68132.txt"


def reference_folder() -> Path:
    named = os.environ.get("SIGNALBOX_KAFKA_MESSAGES")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "kafka-messages"
    if not folder.is_dir():
        pytest.skip("reference schemas not at hand")
    return folder


def read_definition(path: Path) -> dict[str, Any]:
    definition: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))
    return definition


class Definition:
    """Kafka's definition, reduced at one version to rows as `our_rows` makes them."""

    def __init__(self, definition: dict[str, Any]) -> None:
        self.definition = definition
        self.versions = VersionRange.parse(definition["validVersions"])
        self.flexible = VersionRange.parse(definition["flexibleVersions"])
        self.shared = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}

    def rows(self, version: int) -> list[Any]:
        return self._rows(self.definition["fields"], version)

    def _rows(self, fields: list[dict[str, Any]], version: int) -> list[Any]:
        present = [field for field in fields if version in VersionRange.parse(_versions(field))]
        tagged = [field for field in present if _is_tagged(field, version)]
        plain = [field for field in present if not _is_tagged(field, version)]
        return [self._row(field, version) for field in (*plain, *sorted(tagged, key=lambda field: field["tag"]))]

    def _row(self, field: dict[str, Any], version: int) -> tuple[Any, ...]:
        type_name = field["type"].removeprefix("[]")
        inner = field.get("fields") or self.shared.get(type_name)
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
    """Kafka's rule for a field nobody set, in our words: () = a fresh array or a struct of defaults."""
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


def newest_definition(folder: Path, name: str) -> Definition | None:
    for part in FOLDERS:
        path = folder / part / f"{name}.json"
        if path.exists():
            return Definition(read_definition(path))
    return None


@pytest.mark.parametrize("made", ALL_MESSAGES, ids=lambda made: made.__name__)
def test_same_fields_as_kafka_at_every_version(made: Any) -> None:
    reference = newest_definition(reference_folder(), made.__name__)
    assert reference is not None, f"Kafka has no {made.__name__}"
    assert made.schema.api_key == reference.definition.get("apiKey")
    compared = 0
    for version in range(made.min_version, made.max_version + 1):
        if version not in reference.versions:
            continue
        layout = layout_of(made.schema, version)
        assert layout.flexible == (version in reference.flexible)
        assert our_rows(layout) == reference.rows(version), f"version {version}"
        compared += 1
    assert compared >= 1


# Kafka 4 dropped these as well; 3.9 serves them, and they say the same as version 1.
KEPT = re.compile("(Create|Renew|Expire|Describe)DelegationToken")


@pytest.mark.parametrize("made", ALL_MESSAGES, ids=lambda made: made.__name__)
def test_versions_are_kafkas_but_for_the_unstable_and_the_dropped(made: Any) -> None:
    """Kafka 4 dropped what 2024-10 marks as deprecated; unstable newest versions are left out. A response has
    the versions of its request.
    """
    reference = newest_definition(reference_folder(), made.__name__.replace("Response", "Request"))
    assert reference is not None
    dropped = VersionRange.parse(reference.definition.get("deprecatedVersions", "none"))
    lowest = 0 if KEPT.match(made.__name__) else max(reference.versions.lowest, dropped.highest + 1)
    highest = reference.versions.highest - bool(reference.definition.get("latestVersionUnstable"))
    if made.__name__.startswith("ApiVersions"):
        highest = 5
    assert (made.min_version, made.max_version) == (lowest, highest)


def test_api_versions_5_is_the_seeds() -> None:
    """KIP-1242: no definition file has it; the proposal's text does (SPEC R1)."""
    seed = reference_folder().parent / "seeds" / SEED
    text = seed.read_text()
    start = text.index("{", text.index("Request schema"))
    end = text.index("\n}", start) + 2
    wanted = Definition(json.loads(re.sub(r"^\s*//.*$", "", text[start:end], flags=re.MULTILINE)))
    ours = next(made for made in ALL_MESSAGES if made.__name__ == "ApiVersionsRequest")
    for version in range(6):
        assert our_rows(layout_of(ours.schema, version)) == wanted.rows(version)


def test_a_changed_schema_would_be_noticed() -> None:
    """The comparison bites: a type, an order, a default, a tag and a null that differ all show."""
    table = "X versions 0 flexible 0+\n\nA 0+ int32\nB 0+ string?\nC 0+ int8 = 3 tag 0"
    definition = Definition(
        {
            "validVersions": "0",
            "flexibleVersions": "0+",
            "fields": [
                {"name": "A", "type": "int32", "versions": "0+"},
                {"name": "B", "type": "string", "versions": "0+", "nullableVersions": "0+"},
                {"name": "C", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 0, "default": "3"},
            ],
        }
    )
    assert our_rows(layout_of(parse_message(table), 0)) == definition.rows(0)
    for changed in (
        "int32|int64",
        "string?|string",
        "= 3|= 4",
        "tag 0|tag 1",
        "A 0+ int32\nB 0+ string?|B 0+ string?\nA 0+ int32",
    ):
        before, after = changed.split("|")
        assert our_rows(layout_of(parse_message(table.replace(before, after)), 0)) != definition.rows(0), changed
