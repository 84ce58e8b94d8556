"""The table of commands: modules are imported when a command is used."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import COMMANDS, app
from signalbox.cli.shell.lazy_commands import CommandTable, LazyCommand

RUN = "import sys; sys.argv = ['signalbox', {arguments}]; from signalbox.cli.main import run; run()"
PRINT = "import atexit, sys; atexit.register(lambda: print(sorted(set(sys.modules) & {heavy})));"


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_each_row_names_a_command(row: LazyCommand) -> None:
    command = row.load()
    assert (command.name, command.hidden) == (row.name, row.hidden)
    assert row.help.endswith(".")
    assert {"version"} <= {parameter.name for parameter in command.params}


def test_help_imports_no_command() -> None:
    heavy = {"asyncio", "rich", "pydantic", "signalbox.client", "signalbox.cli.topic", "signalbox.testing"}
    code = PRINT.format(heavy=heavy) + RUN.format(arguments="'--help'")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


_LARGE = {"demo", "doctor", "drill", "pipeline"}  # their modules declare options of what they run


@pytest.mark.parametrize("name", [row.name for row in COMMANDS if row.name not in _LARGE])
def test_the_help_of_a_command_imports_nothing_that_it_runs(name: str) -> None:
    heavy = {
        "rich",
        "pydantic",
        "cryptography",
        "signalbox.testing.process_cluster",
        "signalbox.configuration",
    }
    code = PRINT.format(heavy=heavy) + RUN.format(arguments=f"'{name}', '--help'")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "command",
    [
        "topic list",
        "group list",
        "cluster describe",
        "config describe topic:a",
        "acl list",
        "quota describe",
    ],
)
def test_a_short_command_imports_little(command: str) -> None:
    heavy = {
        "rich",
        "pydantic",
        "pyspark",
        "crc32c",
        "signalbox.client.admin",
        "signalbox.testing",
        "signalbox.pipeline",
        "signalbox.security.jaas",
        "signalbox.security.sasl.scram_messages",
        "signalbox.security.tls.contexts",
    }
    code = PRINT.format(heavy=heavy) + RUN.format(arguments=f"*{command.split()}, '-b', '127.0.0.1:1'")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "[]\n")


def test_the_start_of_a_command_is_quick() -> None:
    """The best of five: other processes of the host take time away. The limit is several times what it takes alone."""
    code = RUN.format(arguments="'--help'")
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.3, taken


def test_a_mistyped_command_has_a_suggestion() -> None:
    result = CliRunner().invoke(app, ["tpoic"])
    assert result.exit_code == 2
    assert "Did you mean 'topic'" in result.stderr


def test_a_table_is_a_mapping_that_loads_once() -> None:
    table = CommandTable(COMMANDS)
    assert (list(table), len(table)) == ([row.name for row in COMMANDS], len(COMMANDS))
    assert table["topic"] is table["topic"]
