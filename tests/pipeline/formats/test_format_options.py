"""Invalid options of formats are all named at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.formats.format_options import FormatOptions, parse_headers

pytestmark = pytest.mark.spec("P4")


def test_good_options_have_no_faults(tmp_path: Path) -> None:
    file = tmp_path / "s.avsc"
    file.write_text("")
    assert FormatOptions().faults() == []
    assert FormatOptions(value_format="avro", value_schema=file, key_format="long").faults() == []
    assert FormatOptions(value_format="protobuf", schema_registry="http://r").faults() == []


def test_all_faults_are_named() -> None:
    options = FormatOptions(
        value_format="xml", key_format="avro", headers={"a": "json"}, csv_delimiter="||", key_schema=None
    )
    assert options.faults() == [
        "value format 'xml' is none of raw, json, csv, avro, protobuf, json-schema, string, int, long, float, double",
        "key format avro needs --key-schema FILE or --schema-registry URL",
        "header a has format 'json': give one of string, int, long, float, double",
        "CSV delimiter '||' is not one character",
    ]
    assert FormatOptions(value_format="avro", value_schema=Path("/none")).faults() == ["value schema /none is no file"]


def test_headers_on_the_command_line() -> None:
    assert parse_headers(None) == {}
    assert parse_headers("trace, attempt=int") == {"trace": "string", "attempt": "int"}


@pytest.mark.spec("P9")
def test_a_login_is_not_printed() -> None:
    options = FormatOptions(
        schema_registry="http://user:secret@r", registry_options={"basic.auth.user.info": "user:secret"}
    )
    assert "secret" not in f"{options} {options!r}"
