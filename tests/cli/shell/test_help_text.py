"""Help as a person expects it."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import COMMANDS, app
from signalbox.cli.shell.help_text import first_sentence


def help_of(*arguments: str) -> str:
    return CliRunner().invoke(app, [*arguments, "--help"]).stdout


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.name)
def test_no_help_shows_types_of_python_or_is_cut(row: object) -> None:
    name = row.name  # type: ignore[attr-defined]
    text = help_of(name)
    assert not re.search(r"<(str|int|float|path|list|file|directory)|\{[a-z_]+\}|int range", text), text
    assert "...\n" not in text.partition("Commands:")[2]


def test_arguments_and_options_have_placeholders() -> None:
    text = help_of("topic", "create")
    assert "Usage: signalbox topic create [OPTIONS] NAME" in text
    assert re.search(r"--partitions N ", text)
    assert re.search(r"--config TEXT ", text)
    assert "Example: signalbox topic create" in text
    assert "check [OPTIONS] PROPERTIES..." in help_of("check")
    assert "lag [OPTIONS] [GROUPS...]" in help_of("group", "lag")


def test_the_first_sentence_is_one_line() -> None:
    assert first_sentence("Elect leaders\nof x; or not.\n\nMore.") == "Elect leaders of x; or not."
    assert first_sentence("No end") == "No end"
