"""Values that need no conversion, and those that do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from signalbox.cli.shell.quick_parameters import make_quick


def invoked(*arguments: str) -> tuple[int, Any]:
    recorded: list[Any] = []
    application = typer.Typer(add_completion=False, rich_markup_mode=None)

    @application.command()
    def see(
        text: Annotated[str, typer.Option()] = "t",
        texts: Annotated[list[str] | None, typer.Option()] = None,
        number: Annotated[int, typer.Option(min=1)] = 3,
        path: Annotated[Path | None, typer.Option()] = None,
        paths: Annotated[list[Path] | None, typer.Option()] = None,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        assert paths is None or all(isinstance(one, Path) for one in paths)
        recorded.append((text, texts or None, number, path, flag))

    command: Any = typer.main.get_command(application)
    make_quick(command)
    with CliRunner().isolation():
        try:
            command.main(list(arguments), standalone_mode=True)
        except SystemExit as end:
            return int(end.code or 0), recorded[0] if recorded else None
    raise AssertionError("unreachable: a command ends with SystemExit")


def test_values_have_their_types() -> None:
    assert invoked() == (0, ("t", None, 3, None, False))
    given = invoked("--text", "x", "--texts", "a", "--texts", "b", "--number", "7", "--path", "/p", "--flag")
    assert given == (0, ("x", ["a", "b"], 7, Path("/p"), True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--number", "many"], "'many' is not a whole number"),
        (["--number", "1.5"], "'1.5' is not a whole number"),
        (["--number", "0"], "0 is not 1 or more"),
        (["--share", "half"], "'half' is not a number"),
        (["--share", "nan"], "'nan' is not a number"),
        (["--share", "2"], "2.0 is not between 0 and 1"),
        (["--most", "9"], "9 is not 8 or less"),
    ],
)
def test_messages_about_numbers_are_ours(arguments: list[str], message: str) -> None:
    application = typer.Typer(add_completion=False, rich_markup_mode=None)

    @application.command()
    def see(
        number: Annotated[int | None, typer.Option(min=1)] = None,
        share: Annotated[float, typer.Option(min=0, max=1)] = 0.5,
        most: Annotated[int, typer.Option(max=8)] = 3,
    ) -> None:
        raise AssertionError(f"accepted: {number} {share} {most}")

    command: Any = typer.main.get_command(application)
    make_quick(command)
    with CliRunner().isolation() as (_, error, _):
        with pytest.raises(SystemExit):
            command.main(arguments)
        assert message in error.getvalue().decode()


def test_numbers_and_paths_need_no_pydantic() -> None:
    code = (
        "import sys; from tests.cli.shell.test_quick_parameters import invoked;"
        "print(invoked('--number', '7', '--path', '/p', '--paths', 'a')[0], 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 False\n"


def test_invalid_values_are_still_rejected() -> None:
    assert invoked("--number", "0") == (2, None)
    assert invoked("--number", "many") == (2, None)
    assert invoked("--help") == (0, None)
