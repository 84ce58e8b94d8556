"""Commands that are built from the fields of faults."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from signalbox.cli.drill.fault_commands import FaultCommand, command_of

pytestmark = pytest.mark.spec("R7")

Call = tuple[Path | None, str, dict[str, str]]


def calls(row: FaultCommand, *arguments: str) -> tuple[list[Call], str]:
    """What a command line runs, and its output."""
    made: list[Call] = []
    application = typer.Typer(add_completion=False)
    application.command()(command_of(row, lambda *call: made.append(call)))
    result = CliRunner().invoke(application, arguments)
    return made, result.output


def test_what_a_fault_needs_is_an_argument_and_the_rest_are_options() -> None:
    row = FaultCommand("answer", "AnswerWithError", "Help.")
    made, _ = calls(row, "Fetch", "UNKNOWN_SERVER_ERROR", "--first", "2", "--data", "folder")
    assert made == [
        (Path("folder"), "AnswerWithError", {"api": "Fetch", "error": "UNKNOWN_SERVER_ERROR", "first": "2"})
    ]
    assert calls(row, "Fetch")[0] == []


def test_a_flag_is_the_opposite_of_the_default() -> None:
    row = FaultCommand("swap", "SwapAddresses", "Help.")
    assert calls(row, "1", "2")[0] == [(None, "SwapAddresses", {"one": "1", "other": "2"})]
    assert calls(row, "1", "2", "--keep-connections")[0][0][2]["cut"] == "false"
    reset = FaultCommand("reset", "ResetConnections", "Help.")
    assert calls(reset, "1", "--once")[0][0][2] == {"node": "1", "once": "true"}


def test_a_field_with_a_default_can_be_an_argument_and_help_can_be_its_own() -> None:
    row = FaultCommand("cap", "CapApiVersions", "Help.", ("version",), (("version", "Of the proxy."),))
    assert calls(row, "1", "3")[0][0][2] == {"node": "1", "version": "3"}
    assert calls(row, "1")[0][0][2] == {"node": "1"}
    assert "Of the proxy." in calls(row, "--help")[1]
