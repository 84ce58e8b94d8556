"""What all client commands share: the bootstrap option, how to log in, one admin call, errors as one red line on
standard error and exit code 1. Output that is piped is never wrapped or cut: whoever reads it is a program.

How to log in stands in a file of client properties (`security.protocol`, `sasl.*`, `ssl.*`), as Kafka's tools take it:
`signalbox --command-config FILE ...`, or its name in SIGNALBOX_COMMAND_CONFIG.
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
from signalbox.client.admin_call import Outcome
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.common.properties_file import parse_properties
from signalbox.protocol.error_table import KafkaError

T = TypeVar("T")

Bootstrap = Annotated[
    str, typer.Option("--bootstrap-server", "-b", envvar="SIGNALBOX_BOOTSTRAP", help="host:port of any broker.")
]
COMMAND_CONFIG = "SIGNALBOX_COMMAND_CONFIG"
_PIPED_WIDTH = 2_000
DEFAULT_BOOTSTRAP = "127.0.0.1:19092"

console = Console()
errors = Console(stderr=True)


def ask(bootstrap: str, call: Callable[[AdminClient], Awaitable[T]], timeout_ms: int = 10_000) -> T:
    """The result of `call` with an admin client; whatever goes wrong ends the command."""

    async def run() -> T:
        async with AdminClient(ClusterClient(_settings(bootstrap, timeout_ms))) as admin:
            return await call(admin)

    try:
        return asyncio.run(run())
    except (KafkaError, ClientFailure, ValueError) as error:
        fail(str(error))


def _settings(bootstrap: str, timeout_ms: int) -> ClientSettings:
    given = {"client.id": "signalbox-cli", "default.api.timeout.ms": str(timeout_ms)}
    if location := os.environ.get(COMMAND_CONFIG):
        try:
            given.update(parse_properties(Path(location).read_text(encoding="utf-8"), location).values)
        except (OSError, ValueError) as error:
            fail(f"{location} cannot be read: {error}", code=2)
    return ClientSettings.from_properties({**given, "bootstrap.servers": bootstrap})


def say(line: str) -> None:
    """One line as it is."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def show(table: Table) -> None:
    """A table under its title: as wide as the terminal, or as wide as it needs to be."""
    title, table.title = table.title, None
    if title:
        say(str(title))
    # A console's own width bounds what `print` is told, so a pipe gets a console that is wide enough.
    (console if console.is_terminal else Console(width=_PIPED_WIDTH)).print(table)


def report(outcomes: dict[str, Outcome], done: str) -> None:
    """One line an entry; exit code 1 when one was refused."""
    for outcome in outcomes.values():
        try:
            outcome.raise_for_error()
        except KafkaError as error:
            errors.print(str(error), style="red", markup=False, soft_wrap=True)
        else:
            say(f"{outcome.name}: {done}")
    if any(outcome.error for outcome in outcomes.values()):
        raise typer.Exit(1)


def pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """`key=value` texts as a dict; the command ends when one is not."""
    found = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals or not key:
            fail(f"{option} takes key=value, not {text!r}", code=2)
        found[key] = value
    return found


def fail(message: str, code: int = 1) -> NoReturn:
    """Say what is wrong and end the command."""
    errors.print(message, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(code)
