"""The file of --command-config: typing mistakes and wrong values are named with their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.cli.shell.client_file import read_client_file, warnings_of
from signalbox.common.config.properties_file import parse_properties


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    """Otherwise security.protocol is missing, and a login would be sent to a listener without TLS."""
    file = tmp_path / "client.properties"
    file.write_bytes(b"\xef\xbb\xbfsecurity.protocol=SASL_SSL\r\n")
    assert read_client_file(str(file)).values == {"security.protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (
            "client.id=me\nsecurity.protocl=SSL\n",
            ["f:2: security.protocl is not a known key (did you mean security.protocol?)"],
        ),
        ("linger.ms=5\nauto.offset.reset=latest\nretries=3\nkey.serializer=x\nssl.keystore.key=x\n", []),
        ("lingr.ms=5\n", ["f:1: lingr.ms is not a known key (did you mean linger.ms?)"]),
    ],
)
def test_a_typing_mistake_has_a_suggestion(text: str, warnings: list[str]) -> None:
    assert list(warnings_of(parse_properties(text, "f"))) == warnings


def test_commands_warn_once_on_standard_error(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocl=SSL\n")
    for arguments in (("topic", "list"), ("doctor",)):
        result = run(*arguments, "--command-config", str(file))
        assert result.exit_code == 0, result.output
        file = file.rename(tmp_path / arguments[0])  # a file is read once a process
        assert result.stderr.count(f"warning: {tmp_path}") == 1


@pytest.mark.parametrize("command", ["topic list", "doctor", "produce -t t", "consume -t t -e"])
def test_a_wrong_value_is_named_with_its_line(command: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\nsecurity.protocol=SLL\n")
    result = CliRunner().invoke(app, [*command.split(), "--command-config", str(file), "-b", "127.0.0.1:1"])
    assert result.exit_code == 2, result.output
    assert f"{file}:2: security.protocol (SLL): 'SLL' is not one of" in result.stderr


def test_a_file_that_is_missing_is_named_once(tmp_path: Path) -> None:
    file = tmp_path / "nope.properties"
    for command in ("topic list", "doctor"):
        result = CliRunner().invoke(app, [*command.split(), "--command-config", str(file)])
        assert (result.exit_code, result.stderr) == (2, f"{file} cannot be read: No such file or directory\n")
