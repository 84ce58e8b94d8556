"""The page of all commands is the one that the declarations give."""

from __future__ import annotations

from pathlib import Path

from signalbox.cli.main import COMMANDS
from signalbox.cli.shell.command_page import PAGE, command_page

ROOT = Path(__file__).parents[3]


def test_the_page_is_current() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert text == command_page(), "python -m signalbox.cli.shell.command_page writes the page"


def test_the_page_has_every_command_and_its_options() -> None:
    text = command_page()
    for row in COMMANDS:
        assert (f"### `signalbox {row.name}" in text) != row.hidden
    assert "| `-t, --topic TOPIC` | The topic. |" in text
    assert "| `--fail-on-data-loss, --no-fail-on-data-loss` |" in text
    assert "| `--drill` |" in text
    assert "signalbox group reset-offsets readers -t flights" in text
