"""The options of every command, before and after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer
from deltalake import write_deltalake
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.cli.shell.shared_options import (
    BOOTSTRAP,
    CLIENT,
    COMMAND_CONFIG,
    DEFAULT_BOOTSTRAP,
    SharedOptions,
    add_shared_options,
    shared,
)

NOWHERE = "127.0.0.1:1"


def probe() -> tuple[typer.Typer, list[SharedOptions]]:
    """A group with one command that records its shared options."""
    recorded: list[SharedOptions] = []
    application = typer.Typer(add_completion=False, rich_markup_mode=None)

    @application.callback()
    def group() -> None:
        """A group."""

    @application.command("see")
    def see() -> None:
        recorded.append(shared())

    return application, recorded


def invoked(arguments: list[str], env: Mapping[str, str] | None = None) -> SharedOptions:
    application, recorded = probe()
    command: Any = typer.main.get_group(application)
    add_shared_options(command, CLIENT)
    with CliRunner(env={BOOTSTRAP: None, COMMAND_CONFIG: None, **(env or {})}).isolation():
        command.main(arguments, standalone_mode=False)
        options = recorded[0]
        return SharedOptions(options.bootstrap, options.config_file, options.as_json)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-b", "a:1", "--command-config", "f", "--json", "see"],
        ["see", "--bootstrap-server", "a:1", "--command-config", "f", "--json"],
        ["-b", "b:2", "see", "-b", "a:1", "--command-config", "f", "--json"],
    ],
)
def test_before_and_after_a_command_the_last_one_counts(arguments: list[str]) -> None:
    assert invoked(arguments) == SharedOptions("a:1", "f", True)


def test_the_environment_counts_without_an_option() -> None:
    assert invoked(["see"]) == SharedOptions(DEFAULT_BOOTSTRAP, None, False)
    env = {BOOTSTRAP: "e:1", COMMAND_CONFIG: "e"}
    assert invoked(["see"], env) == SharedOptions("e:1", "e", False)
    assert invoked(["-b", "a:1", "see", "--command-config", "f"], env) == SharedOptions("a:1", "f", False)


@pytest.mark.parametrize(
    "arguments", [["--version"], ["topic", "--version"], ["topic", "list", "--version"], ["up", "--version"]]
)
def test_the_version_everywhere(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout.split()[0]) == (0, "signalbox")


@pytest.mark.parametrize("arguments", [["-h"], ["topic", "-h"], ["topic", "list", "-h"], ["start", "-h"]])
def test_help_has_a_short_name(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, "Usage:" in result.stdout) == (0, True)


def test_the_file_may_be_named_before_and_after(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    for arguments in (["--command-config", missing, "topic", "list"], ["topic", "list", "--command-config", missing]):
        result = CliRunner().invoke(app, [*arguments, "-b", NOWHERE])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{missing} cannot be read" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["-b", "a:1", "check", "file"], "--bootstrap-server"),
        (["--command-config", "f", "profiles"], "--command-config"),
        (["--profile", "p", "down", "--data", "/nowhere"], "--profile"),
        (["--json", "completion", "bash"], "--json"),
    ],
)
def test_an_option_without_effect_is_rejected(arguments: list[str], option: str) -> None:
    result = CliRunner().invoke(app, arguments)
    [command] = {*arguments} & {"check", "profiles", "down", "completion"}
    assert (result.exit_code, result.stderr) == (2, f"`{command}` has no option {option}\n")


@pytest.mark.parametrize("place", range(4))
def test_json_before_and_after_the_commands_of_the_pipeline(place: int, tmp_path: Path) -> None:
    rejected = pa.table({"topic": ["t"], "partition": [0], "offset": [1], "reason": ["r"]})
    write_deltalake(str(tmp_path / "t_dead"), rejected)
    arguments = ["pipeline", "rejected", "list", "t", "--warehouse", str(tmp_path)]
    arguments.insert(place, "--json")
    result = CliRunner().invoke(app, arguments)
    assert json.loads(result.stdout)[0]["reason"] == "r", result.output


def test_json_everywhere(run: Any) -> None:
    run("topic", "create", "json")
    for arguments in (("--json", "topic", "list"), ("topic", "--json", "list"), ("topic", "list", "--json")):
        assert {"name": "json"} in json.loads(run(*arguments).stdout)
    assert json.loads(run("topic", "delete", "json", "nope", "--json").stdout)[0] == {
        "name": "json",
        "error": None,
        "message": "deleted",
    }
