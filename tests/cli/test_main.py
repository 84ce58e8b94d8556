"""The help text of the command line, and that a broker's start imports no heavy package."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from signalbox.cli.connect import COMMAND_CONFIG
from signalbox.cli.main import app
from signalbox.cli.shell.lazy_commands import Commands

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
    "down",
    "produce",
    "consume",
    "quota",
    "log-dirs",
    "features",
    "delete-records",
    "audit",
    "completion",
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


SIGNALBOX = [sys.executable, "-c", "from signalbox.cli.main import run; run()"]


def test_an_argument_that_is_not_utf_8_is_one_line() -> None:
    done = subprocess.run([*SIGNALBOX, "topic", "create", b"a\xff"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "the argument 'a\\udcff' is not UTF-8\n")


def test_a_broker_carries_no_library_of_the_command_line() -> None:
    libraries = "{'typer', 'rich', 'pyspark', 'cryptography'}"
    code = f"import sys, signalbox.wiring.serve; print(sorted({libraries} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


INPUTS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "a directory": Path.mkdir,
    "below a file": lambda path: path.parent.write_text(""),
    "not UTF-8": lambda path: path.write_bytes(b"caf\xe9 = \xff\n"),
    "a file that cannot be read": lambda path: path.symlink_to("/proc/self/mem"),
}
READING = [
    "--command-config FILE topic list -b 127.0.0.1:1",
    "check FILE",
    "store format --config FILE",
    "store format --config /dev/null --add-scram @FILE",
    "store accept-older --config FILE",
    "store backup --from sqlite:FILE FILE-backup",
    "store backup --from sqlite:FILE FILE-backup --config FILE",
    "store copy --from sqlite:FILE --to sqlite:FILE-copy",
    "store restore FILE --to sqlite:FILE-restored",
]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("content", INPUTS)
def test_a_bad_file_is_an_error_and_never_a_traceback(tmp_path: Path, content: str, command: str) -> None:
    file = tmp_path / "folder" / "input"
    if content != "below a file":
        file.parent.mkdir()
    INPUTS[content](file)
    result = CliRunner(env={COMMAND_CONFIG: None}).invoke(app, command.replace("FILE", str(file)).split())
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert str(file) in "".join(result.stderr.splitlines())


def test_an_error_of_the_file_system_names_the_file_in_any_command(tmp_path: Path) -> None:
    commands = typer.Typer(cls=Commands)

    @commands.command("read")
    def read(file: Path) -> None:
        typer.echo(file.read_text())

    @commands.command("write")
    def write(file: Path) -> None:
        file.mkdir()

    for name, reason in (("read", "Is a directory"), ("write", "File exists")):
        result = CliRunner().invoke(commands, [name, str(tmp_path)])
        assert (result.exit_code, result.stderr) == (1, f"{tmp_path}: {reason}\n")
