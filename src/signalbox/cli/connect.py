"""What all client commands share: the bootstrap option, one admin call, errors as one red line and exit code 1."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console

from signalbox.client.admin import AdminClient
from signalbox.client.admin_call import Outcome
from signalbox.client.failures import ClientFailure
from signalbox.protocol.error_table import KafkaError

T = TypeVar("T")

Bootstrap = Annotated[
    str, typer.Option("--bootstrap-server", "-b", envvar="SIGNALBOX_BOOTSTRAP", help="host:port of any broker.")
]
DEFAULT_BOOTSTRAP = "127.0.0.1:19092"

console = Console()


def ask(bootstrap: str, call: Callable[[AdminClient], Awaitable[T]]) -> T:
    """The result of `call` with an admin client; whatever goes wrong ends the command."""

    async def run() -> T:
        async with AdminClient.of(bootstrap, client_id="signalbox-cli", api_timeout_ms=30_000) as admin:
            return await call(admin)

    try:
        return asyncio.run(run())
    except (KafkaError, ClientFailure, ValueError) as error:
        fail(str(error))


def report(outcomes: dict[str, Outcome], done: str) -> None:
    """One line an entry; exit code 1 when one was refused."""
    for outcome in outcomes.values():
        try:
            outcome.raise_for_error()
        except KafkaError as error:
            console.print(str(error), style="red", markup=False)
        else:
            console.print(f"{outcome.name}: {done}", markup=False)
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
    console.print(message, style="red", markup=False)
    raise typer.Exit(code)
