"""A group of commands whose modules are imported when a command is used, so that each command starts quickly."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
import typer.main
from typer.core import TyperGroup

from signalbox.cli.shell.help_text import polish_help
from signalbox.cli.shell.quick_parameters import make_quick
from signalbox.cli.shell.shared_options import CLIENT, add_shared_options

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command: `source` is `module:name` of a function or of a Typer application below `signalbox.cli`; `help` is the
    line in the list of all commands; `shares` are the shared options that it has."""

    name: str
    source: str
    help: str
    shares: tuple[str, ...] = CLIENT
    hidden: bool = False

    def target(self) -> Any:
        """Import the module, and return the function or Typer application."""
        module, _, attribute = self.source.partition(":")
        return getattr(import_module(f"signalbox.cli.{module}"), attribute)

    def load(self) -> Any:
        """The command, with its shared options."""
        command = built(self.target())
        command.name, command.hidden = self.name, self.hidden
        add_shared_options(command, self.shares)
        make_quick(command)
        return command


def built(target: Any) -> Any:
    """The command of a function, or the group of a Typer application, also of one with a single command."""
    command: Any
    if isinstance(target, typer.Typer):
        target.rich_markup_mode = None
        command = typer.main.get_group(target)
    else:
        application = typer.Typer(add_completion=False, rich_markup_mode=None)
        application.command()(target)
        command = typer.main.get_command(application)
    polish_help(command)
    return command


class CommandTable(Mapping[str, Any]):
    """The commands by name, imported one by one."""

    def __init__(self, rows: Sequence[LazyCommand]) -> None:
        self.rows = {row.name: row for row in rows}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self.rows[name].load()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class Commands(TyperGroup):
    """The group of all commands: an OSError of any command becomes one line that names the file, and exit code 1."""

    table: CommandTable | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.table is not None:
            self.commands: Any = self.table
            add_shared_options_to_root(self)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if self.table is None:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in self.table.rows.values() if not row.hidden])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of the output has ended: click ends the command quietly
            from signalbox.cli.connect import fail

            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def add_shared_options_to_root(root: Any) -> None:
    """The root takes every shared option; the commands below get theirs when they are imported."""
    commands, root.commands = root.commands, {}
    add_shared_options(root, CLIENT)
    make_quick(root)
    root.commands = commands
