"""Shared by all client commands: the settings of the client, one admin call, results, errors as red lines on standard
error and exit code 1. Output to a pipe is never wrapped or cut: a program reads it.

The login is in a file of client properties (`security.protocol`, `sasl.*`, `ssl.*`), as for Kafka's tools: `signalbox
--command-config FILE ...`, or the file's name in SIGNALBOX_COMMAND_CONFIG. With `--json` a result is one JSON document
on standard output; lines for people go to standard error. rich is imported when it is needed: most of a short command's
time would be its import.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from signalbox.cli.shell.client_file import read_client_file
from signalbox.cli.shell.listing import Listing, json_text
from signalbox.cli.shell.shared_options import COMMAND_CONFIG, shared
from signalbox.common.visible_text import one_line, visible, without_logins

if TYPE_CHECKING:
    from rich.console import Console

    from signalbox.client.admin import AdminClient
    from signalbox.client.admin_apis.admin_call import AdminResult
    from signalbox.client.client_settings import ClientSettings
    from signalbox.client.cluster_client import ClusterClient
    from signalbox.common.config.config_table import ConfigTable

    console: Console
    errors: Console

__all__ = ["COMMAND_CONFIG"]

T = TypeVar("T")
Api = TypeVar("Api")

TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_MS = 3_000
NEW_TOPIC_MS = 1_000  # a topic that no broker knows for so long does not exist: a person waits for the answer


def __getattr__(name: str) -> Any:
    """`console` and `errors` (consoles of rich), made when they are used first."""
    if name not in ("console", "errors"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rich.console import Console

    # `a:1:b` is an address here, and rich would print a picture for `:1:`
    made = globals()[name] = Console(stderr=name == "errors", emoji=False)
    return made


def ask(call: Callable[[AdminClient], Awaitable[T]], timeout_ms: int = TIMEOUT_MS) -> T:
    """Returns the result of `call` with an admin client; any failure ends the command."""
    from signalbox.client.admin import AdminClient

    return ask_with(AdminClient, call, timeout_ms)


def ask_with(
    api: Callable[[ClusterClient], Api], call: Callable[[Api], Awaitable[T]], timeout_ms: int = TIMEOUT_MS
) -> T:
    """As `ask`, with one admin class: what only it needs is imported faster than the whole admin client."""
    return run_client(lambda client: call(api(client)), timeout_ms)


def run_client(work: Callable[[ClusterClient], Awaitable[T]], timeout_ms: int = TIMEOUT_MS) -> T:
    """Returns the result of `work` with a client that is started. A failure ends the command with its likely reason;
    so does a client that cannot connect at all, without waiting for the deadline."""
    import asyncio

    from signalbox.cli.shell.first_contact import watched
    from signalbox.client.cluster_client import ClusterClient
    from signalbox.client.failures import ClientFailure, ConfigRejected
    from signalbox.protocol.error_table import KafkaError

    settings = client_settings(timeout_ms)

    async def run() -> T:
        async with ClusterClient(settings) as client:
            return await watched(client, work(client))

    try:
        return asyncio.run(run())
    except (KafkaError, ClientFailure, ValueError) as error:
        from signalbox.cli.shell.connect_hints import explained

        fail(explained(error, settings, shared().bootstrap), code=2 if isinstance(error, ConfigRejected) else 1)


def client_properties() -> dict[str, str]:
    """The properties of the file of --command-config; an unreadable file ends the command."""
    location = shared().config_file
    return dict(read_client_file(location).values) if location else {}


def client_settings(timeout_ms: int = TIMEOUT_MS) -> ClientSettings:
    """The settings of the client that the shared options describe; wrong ones end the command."""
    from signalbox.client.client_settings import ClientSettings
    from signalbox.client.failures import ConfigRejected

    defaults = {
        "client.id": "signalbox-cli",
        "default.api.timeout.ms": str(timeout_ms),
        "socket.connection.setup.timeout.ms": str(min(CONNECT_TIMEOUT_MS, timeout_ms)),
        "topic.metadata.propagation.max.ms": str(NEW_TOPIC_MS),
    }
    properties = {**defaults, **client_properties(), "bootstrap.servers": shared().bootstrap}
    try:
        return ClientSettings.from_properties(properties, _origin_of_key)
    except ConfigRejected as error:
        fail(str(error), code=2)


def _origin_of_key(key: str) -> str:
    location = shared().config_file
    return "" if not location or key == "bootstrap.servers" else read_client_file(location).where(key)


def say(line: str) -> None:
    """Prints one line without wrapping or markup; with --json to standard error. What cannot be printed is escaped,
    line breaks included: names in it are what others wrote."""
    print(visible(line), file=sys.stderr if shared().as_json else sys.stdout, flush=True)


def tell(document: Mapping[str, Any], *lines: str) -> None:
    """Prints a result: the document with --json, else the lines."""
    if shared().as_json:
        print(json_text(document), flush=True)
        return
    for line in lines:
        say(line)


def show(listing: Listing, **facts: Any) -> None:
    """Prints a listing under its title; with --json its rows, or an object of `facts` and `rows` if there are facts."""
    if shared().as_json:
        print(json_text({**facts, "rows": listing} if facts else listing), flush=True)
    else:
        draw(listing)


def draw(listing: Listing) -> None:
    """Prints a listing as a table: as wide as the terminal, or as wide as necessary in a pipe."""
    draw_within(listing, terminal_width())


def draw_within(listing: Listing, width: int | None) -> None:
    """As `draw`, at most `width` columns wide if it is not None: for output that reaches a terminal by a pipe."""
    from signalbox.cli.shell.table import encodes_lines, table_lines

    if listing.title:
        say(listing.title)
    ascii_only = not encodes_lines(sys.stdout.encoding)
    lines = table_lines(listing.columns, listing.texts(), width, ascii_only)
    print("\n".join(lines), flush=True)


def terminal_width() -> int | None:
    """The columns of the terminal; None if the output is piped, whose reader wants each row on one line."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def report(results: Mapping[Any, AdminResult], done: str) -> None:
    """Prints one line per entry, or a list with --json; exit code 1 if an entry was rejected."""
    from signalbox.protocol.error_table import KafkaError

    listing = Listing("name", "error", "message")
    for result in results.values():
        message = done
        try:
            result.raise_for_error()
        except KafkaError as error:
            message = str(error)
            _complain(one_line(message))
        else:
            if not shared().as_json:
                say(f"{result.name}: {done}")
        listing.add(result.name, result.error.name if result.error else None, message)
    if shared().as_json:
        print(json_text(listing), flush=True)
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


def property_values(texts: list[str] | None, table: ConfigTable, *others: str) -> dict[str, str]:
    """`key=value` texts as a dict. A key that is not in the table, nor one of `others`, ends the command, with the key
    that may be meant."""
    from difflib import get_close_matches

    values = pairs(texts, "--property")
    names = [*others, *(row.name for row in table)]
    for key in values:
        if key not in names:
            near = get_close_matches(key, names, 1, 0.8)
            remedy = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(sorted(names))}."
            fail(f"--property {key}: no such key: {remedy} --command-config has those of the connection.", code=2)
    return values


def _complain(message: str) -> None:
    """Prints lines of ours: who puts a text of the cluster into one makes it `one_line` of its own."""
    typer.secho(without_logins(visible(message, keep="\n")), fg="red", err=True)


def fail(message: str, code: int = 1) -> NoReturn:
    """Print the error and end the command."""
    _complain(message)
    raise typer.Exit(code)
