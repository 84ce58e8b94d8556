"""`signalbox store accept-older`: brokers accept a metadata store that is older than their logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail, say, tell
from signalbox.cli.shell.shared_options import shared


def accept_older_command(
    config: Annotated[
        list[Path], typer.Option("--config", "-c", help="A broker's server.properties; once for each broker.")
    ],
    override: Annotated[list[str] | None, typer.Option(help="key=value, overrides the files; can be repeated.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and list the changes; write nothing.")] = False,
) -> None:
    """Accept a store that is an older copy; later changes are lost.

    All brokers must be stopped. Leader epochs and the controller epoch are raised above all that the brokers have seen;
    topics that have folders but no entry are listed, and their folders are kept.
    """
    import asyncio

    from signalbox.server.store.older_store import ACCEPT_ERRORS, accept_older
    from signalbox.wiring.serve import load_config

    loaded = [load_config(file, override or []) for file in config]
    for broker in loaded:
        if broker is None:
            raise typer.Exit(2)
    notes: list[str] = []
    for broker in loaded:
        assert broker is not None
        try:
            lines = asyncio.run(accept_older(broker, dry_run))
        except ACCEPT_ERRORS as error:
            fail(str(error))
        notes += lines
        for line in lines if not shared().as_json else ():
            say(line)
    if shared().as_json:
        tell({"dry_run": dry_run, "notes": notes}, "")
