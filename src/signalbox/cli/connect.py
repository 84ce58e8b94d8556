"""Shared by all client commands: the bootstrap option, the login, one admin call, errors as one red line on standard
error and exit code 1. Output to a pipe is never wrapped or cut: a program reads it.

The login is in a file of client properties (`security.protocol`, `sasl.*`, `ssl.*`), as for Kafka's tools: `signalbox
--command-config FILE ...`, or the file's name in SIGNALBOX_COMMAND_CONFIG.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.admin_call import AdminResult
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.common.config.properties_file import parse_properties
from signalbox.protocol.error_table import KafkaError

T = TypeVar("T")

Bootstrap = Annotated[
    str, typer.Option("--bootstrap-server", "-b", envvar="SIGNALBOX_BOOTSTRAP", help="host:port of any broker.")
]
COMMAND_CONFIG = "SIGNALBOX_COMMAND_CONFIG"
_PIPED_WIDTH = 2_000
DEFAULT_BOOTSTRAP = "127.0.0.1:19092"

console = Console(emoji=False)  # `a:1:b` is an address here, and rich would print a picture for `:1:`
errors = Console(stderr=True, emoji=False)


def ask(bootstrap: str, call: Callable[[AdminClient], Awaitable[T]], timeout_ms: int = 10_000) -> T:
    """Returns the result of `call` with an admin client; any failure ends the command."""

    async def run() -> T:
        async with AdminClient(ClusterClient(_settings(bootstrap, timeout_ms))) as admin:
            return await call(admin)

    try:
        return asyncio.run(run())
    except (KafkaError, ClientFailure, ValueError) as error:
        fail(str(error))


def _settings(bootstrap: str, timeout_ms: int) -> ClientSettings:
    properties = {"client.id": "signalbox-cli", "default.api.timeout.ms": str(timeout_ms)}
    if location := os.environ.get(COMMAND_CONFIG):
        try:
            properties.update(parse_properties(Path(location).read_text(encoding="utf-8"), location).values)
        except (OSError, ValueError) as error:
            fail(f"{location} cannot be read: {error}", code=2)
    return ClientSettings.from_properties({**properties, "bootstrap.servers": bootstrap})


def say(line: str) -> None:
    """Prints one line without wrapping or markup."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def show(table: Table) -> None:
    """Prints a table under its title: as wide as the terminal, or as wide as necessary in a pipe. Long values continue
    on the next line; nothing is cut."""
    title, table.title = table.title, None
    if title:
        say(str(title))
    for column in table.columns:
        column.overflow = "fold"
    # A console's own width limits the width of `print`, so a pipe gets a console that is wide enough. With FORCE_COLOR
    # rich takes a pipe for a terminal (of 80 columns): only the file object knows.
    (console if console.file.isatty() else Console(width=_PIPED_WIDTH, emoji=False)).print(table)


def report(results: dict[str, AdminResult], done: str) -> None:
    """Prints one line per entry; exit code 1 if an entry was rejected."""
    for result in results.values():
        try:
            result.raise_for_error()
        except KafkaError as error:
            errors.print(str(error), style="red", markup=False, soft_wrap=True)
        else:
            say(f"{result.name}: {done}")
    if any(result.error for result in results.values()):
        raise typer.Exit(1)


def pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """`key=value` texts as a dict; an invalid text ends the command."""
    values = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            fail(f"{option} takes key=value, not {text!r}", code=2)
        values[key] = value
    return values


def fail(message: str, code: int = 1) -> NoReturn:
    """Print the error and end the command."""
    errors.print(message, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(code)
