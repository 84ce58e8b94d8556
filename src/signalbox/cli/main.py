"""The command line: all commands. Each command is in its own file.

A command reports the errors that it expects. An error of the file system that a command does not expect (a directory
instead of a file, a full disk, permissions) ends any command with one line, too.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from signalbox.cli import (
    acl,
    check,
    cluster,
    config,
    doctor,
    forwarding,
    group,
    pipeline,
    planes,
    reassign,
    start,
    token,
    topic,
    up,
    user,
)
from signalbox.cli.connect import COMMAND_CONFIG, fail
from signalbox.cli.demo.run import demo
from signalbox.cli.metadata_store import store, store_format


class Commands(TyperGroup):
    """The group of all commands: an OSError of any command becomes one line that names the file, and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of the output has ended: click ends the command quietly
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


app = typer.Typer(
    name="signalbox",
    cls=Commands,
    help="A Kafka-wire-compatible broker cluster whose subject is routing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("start")(start.start)
app.command("check")(check.check)
app.command("up")(up.up)
app.command("demo")(demo)
app.command("doctor")(doctor.doctor)
app.command("planes")(planes.planes)
app.command("forwarding")(forwarding.forwarding)
app.add_typer(topic.app, name="topic")
app.add_typer(reassign.app, name="reassign")
app.add_typer(config.app, name="config")
app.add_typer(group.app, name="group")
app.add_typer(acl.app, name="acl")
app.add_typer(user.app, name="user")
app.add_typer(token.app, name="token")
app.add_typer(cluster.app, name="cluster")
app.add_typer(store_format.storage, name="storage", hidden=True)
app.add_typer(store.app, name="store")
app.add_typer(pipeline.app, name="pipeline")


@app.callback()
def options(
    command_config: Annotated[
        Path | None,
        typer.Option(
            envvar=COMMAND_CONFIG, help="Client properties file with security settings (security.protocol, sasl.*)."
        ),
    ] = None,
) -> None:
    """A Kafka-wire-compatible broker cluster whose subject is routing."""
    if command_config is not None:
        os.environ[COMMAND_CONFIG] = str(command_config)


def run() -> None:
    """Entry point of the console script."""
    app()
