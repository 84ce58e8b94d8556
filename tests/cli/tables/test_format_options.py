"""Formats on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from signalbox.cli.tables.format_options import format_options, read_properties
from signalbox.pipeline.formats.format_options import FormatOptions


@pytest.mark.spec("P4")
def test_the_options_become_one_object(tmp_path: Path) -> None:
    properties = tmp_path / "registry.properties"
    properties.write_text("# login\nbasic.auth.user.info = user:pa=ss\n\n")
    schema = Path("key.avsc")
    options = format_options(
        ("avro", None, "", "s"), ("avro", schema, "M", None), "h=int", ";", ("http://r", properties)
    )
    assert options == FormatOptions(
        value_format="avro",
        value_subject="s",
        key_format="avro",
        key_schema=schema,
        key_message="M",
        headers={"h": "int"},
        csv_delimiter=";",
        schema_registry="http://r",
        registry_options={"basic.auth.user.info": "user:pa=ss"},
    )


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert read_properties(None) == {}
    with pytest.raises(typer.Exit):
        read_properties(tmp_path / "none")
