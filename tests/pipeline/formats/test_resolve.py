"""From options and stored formats to the parts that are decoded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.formats.evolution import SchemaChanges
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.registry import RegistrySettings
from signalbox.pipeline.formats.resolve import continued_parts, followed, new_parts, with_begun_formats
from signalbox.pipeline.formats.schema_text import Field, SchemaText, column
from signalbox.pipeline.options import OptionError

pytestmark = pytest.mark.spec("P4")


def fields_of(ddl: str) -> tuple[Field, ...]:
    return tuple(column(name, "string") for name in ddl.split(","))


def parts(declared: str | None = None, **options: Any) -> tuple[PartSpec, ...]:
    return new_parts(FormatOptions(**options), "flights", declared, fields_of)


def test_raw_values_and_declared_json_are_not_decoded_here() -> None:
    assert parts() == parts(value_format="raw") == parts("a", value_format="json") == ()


def test_declared_columns_of_csv_and_of_a_json_key(tmp_path: Path) -> None:
    file = tmp_path / "key.txt"
    file.write_text("x,y\n")
    value, key = parts("a,b", value_format="csv", csv_delimiter=";", key_format="json", key_schema=file)
    assert (value.part, value.format, value.delimiter, [field["name"] for field in value.columns]) == (
        "value", "csv", ";", ["a", "b"],
    )  # fmt: skip
    assert (key.part, [field["name"] for field in key.columns]) == ("key", ["x", "y"])
    with pytest.raises(OptionError, match="key format json needs declared fields"):
        parts(key_format="json")


def test_a_schema_file_or_a_registry_with_the_subject_of_the_topic(tmp_path: Path) -> None:
    file = tmp_path / "value.avsc"
    file.write_text('"long"')
    value, key = parts(
        value_format="avro", value_schema=file, key_format="avro", schema_registry="http://r", key_subject=None
    )
    assert (value.schema, value.registry) == (SchemaText('"long"'), None)
    assert (key.registry, key.subject) == (RegistrySettings("http://r"), "flights-key")
    assert followed((value,), SchemaChanges())[0].columns == (column("value", "long"),)


def test_headers_have_scalar_formats() -> None:
    assert parts(headers={"trace": "string"}) == (PartSpec(part="header:trace", format="string"),)


def test_a_table_keeps_its_formats_and_takes_a_new_schema_file() -> None:
    stored = (PartSpec(part="value", format="avro", columns=(column("a", "integer"),), schema=SchemaText('"int"')),)
    assert continued_parts(stored, FormatOptions(), "t", (), SchemaChanges()) == stored
    new = (PartSpec(part="value", format="avro", schema=SchemaText('"long"')),)
    (kept,) = continued_parts(stored, FormatOptions(value_format="avro"), "t", new, SchemaChanges())
    assert (kept.columns, kept.schema) == (stored[0].columns, SchemaText('"long"'))
    other = (PartSpec(part="value", format="csv"),)
    with pytest.raises(OptionError, match="table t was begun with value format avro, not csv"):
        continued_parts(stored, FormatOptions(value_format="csv"), "t", other, SchemaChanges())


def test_a_stored_registry_takes_the_credentials_of_the_run() -> None:
    stored = (PartSpec(part="value", format="avro", registry=RegistrySettings("http://r", {"timeout": "3"})),)
    (kept,) = continued_parts(
        stored, FormatOptions(registry_options={"basic.auth.user.info": "u:p"}), "t", (), SchemaChanges()
    )
    assert kept.registry == RegistrySettings("http://r", {"timeout": "3", "basic.auth.user.info": "u:p"})


@pytest.mark.spec("P5")
def test_changes_of_columns_are_reported() -> None:
    changes = SchemaChanges()
    spec = PartSpec(part="value", format="avro", columns=(column("value", "integer"),), schema=SchemaText('"long"'))
    assert followed((spec,), changes)[0].columns == (column("value", "long"),)
    assert changes == SchemaChanges(["value: column value widened from int to bigint"])
    text = PartSpec(part="value", format="avro", columns=(column("value", "string"),), schema=SchemaText('"long"'))
    assert followed((text,), changes) == (text,)
    assert changes.unfitting == [
        "value: value is string in the table, bigint now: records with values that do not fit are rejected"
    ]


@pytest.mark.spec("P5")
def test_a_new_declaration_changes_the_columns_and_keeps_the_delimiter() -> None:
    stored = (PartSpec(part="value", format="csv", columns=(column("a", "integer"),), delimiter=";"),)
    new = (PartSpec(part="value", format="csv", columns=(column("b", "string"), column("a", "long"))),)
    changes = SchemaChanges()
    (kept,) = continued_parts(stored, FormatOptions(value_format="csv"), "t", new, changes)
    assert (kept.columns, kept.delimiter) == (new[0].columns, ";")
    assert changes.followed == ["value: column b string added", "value: column a widened from int to bigint"]
    broken = (PartSpec(part="value", format="csv", columns=(column("a", "string"),)),)
    with pytest.raises(
        OptionError, match="table t cannot follow the value's schema: a is int in the table, string now"
    ):
        continued_parts(stored, FormatOptions(value_format="csv"), "t", broken, changes)


@pytest.mark.spec("P5")
def test_a_new_schema_without_a_format_is_for_the_stored_format(tmp_path: Path) -> None:
    file = tmp_path / "s"
    stored = (
        PartSpec(part="value", format="avro", schema=SchemaText("", (), "M")),
        PartSpec(part="key", format="json"),
    )
    options = FormatOptions(value_schema=file, key_schema=file)
    assert with_begun_formats(options, stored, None) == replace(options, value_format="avro", key_format="json")
    assert with_begun_formats(FormatOptions(), stored, None) == FormatOptions()
    assert with_begun_formats(FormatOptions(), (PartSpec(part="value", format="csv"),), "a INT").value_format == "csv"
    native = FormatOptions(value_schema=file)
    assert with_begun_formats(native, (), "a INT") == native
    for options, parts, message in (
        (native, (), "the value has no format with a schema: leave out --value-schema"),
        (FormatOptions(key_schema=file), (), "the key has no format with a schema: leave out --key-schema"),
        (native, (PartSpec(part="value", format="avro", registry=RegistrySettings("r")),), "are in a registry"),
    ):
        with pytest.raises(OptionError, match=message):
            with_begun_formats(options, parts, None)


def test_fields_of_a_file_are_not_declared_otherwise() -> None:
    stored = (PartSpec(part="value", format="json", columns=(column("a", "integer"),)),)
    with pytest.raises(OptionError, match="the fields of table t's values are in a file: give --value-schema FILE"):
        continued_parts(stored, FormatOptions(value_format="json"), "t", (), SchemaChanges())
