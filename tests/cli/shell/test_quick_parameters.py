"""Values that need no conversion, and those that do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
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


def test_invalid_values_are_still_rejected() -> None:
    assert invoked("--number", "0") == (2, None)
    assert invoked("--number", "many") == (2, None)
    assert invoked("--help") == (0, None)
