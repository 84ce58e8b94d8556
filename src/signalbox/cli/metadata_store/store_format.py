"""`signalbox store format`: prepares a metadata store before a first broker starts. `signalbox storage format`, named
as in Kafka's kafka-storage, is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail, tell

storage = typer.Typer(help="Alias of `store format`, named as in Kafka.", no_args_is_help=True)


@storage.callback()
def _storage() -> None:
    """Alias of `store format`, named as in Kafka."""


@storage.command("format")
def format_(
    config: Annotated[Path, typer.Option("--config", "-c", help="A broker's server.properties.")],
    add_scram: Annotated[
        list[str] | None,
        typer.Option(
            "--add-scram",
            "-S",
            help="A user, as 'SCRAM-SHA-256=[name=admin,password=secret]'; also iterations, salt, saltedpassword"
            " (base64). Can be repeated. @FILE reads one a line: others see a command line.",
        ),
    ] = None,
    override: Annotated[list[str] | None, typer.Option(help="key=value, overrides the file; can be repeated.")] = None,
) -> None:
    """Create a cluster's metadata store, with the SCRAM users of the brokers' logins; existing entries are kept."""
    import asyncio

    from signalbox.common.config.start_error import StartError
    from signalbox.security.sasl.scram_argument import BadScramArgument, parse_scram_argument
    from signalbox.server.store.storage_format import NotFormatted, format_storage
    from signalbox.wiring.serve import load_config

    users = []
    for source, text in _texts(add_scram or []):
        try:
            users.append(parse_scram_argument(text))
        except BadScramArgument as error:
            fail(f"{source}: {error}", code=2)
    loaded = load_config(config, override or [])
    if loaded is None:
        raise typer.Exit(2)
    try:
        lines = asyncio.run(format_storage(loaded, users))
    except (NotFormatted, StartError) as error:
        fail(str(error))
    tell({"config": str(config), "notes": lines}, *lines)


def _texts(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """The texts of the users to add, each with the place where it is written."""
    for number, argument in enumerate(arguments, 1):
        if not argument.startswith("@"):
            yield f"--add-scram number {number}", argument
            continue
        try:
            lines = Path(argument[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            fail(f"--add-scram number {number}: {argument[1:]} cannot be read: {reason}", code=2)
        yield from ((f"{argument[1:]}:{row}", line) for row, line in enumerate(lines, 1) if line.strip())
