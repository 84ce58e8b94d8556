"""The help text of the command line, and that a broker's start imports no heavy package."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app

COMMANDS = [
    "start",
    "check",
    "up",
    "demo",
    "topic",
    "reassign",
    "config",
    "group",
    "acl",
    "user",
    "cluster",
    "store",
    "planes",
    "pipeline",
]


def test_help_names_every_command_in_one_whole_line() -> None:
    help_text = CliRunner().invoke(app, ["--help"]).stdout
    for name in COMMANDS:
        [line] = [line for line in help_text.splitlines() if line.split()[:1] == [name]]
        assert line.endswith(".")
        assert not line.endswith("...")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert (result.exit_code, "Usage:" in result.stdout) == (0, True)


def test_without_a_command_there_is_help_and_an_unknown_one_is_rejected() -> None:
    assert "Usage:" in CliRunner().invoke(app, []).output
    assert CliRunner().invoke(app, ["tpoic"]).exit_code == 2


def test_a_broker_carries_no_library_of_the_command_line() -> None:
    libraries = "{'typer', 'rich', 'pyspark', 'cryptography'}"
    code = f"import sys, signalbox.wiring.serve; print(sorted({libraries} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
