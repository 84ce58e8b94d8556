"""`signalbox pipeline`: topics become lakehouse tables through Spark, exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, console, fail
from signalbox.pipeline import commands

app = typer.Typer(help="Topics and the audit trail as tables, through Spark.", no_args_is_help=True)

Warehouse = Annotated[Path, typer.Option(help="Folder that holds the tables.")]
Profile = Annotated[str, typer.Option(help="auto, jars (Spark's connector, Delta's sink) or pypi (no jar at all).")]
Commit = Annotated[str, typer.Option(help="auto, spark (Delta's own commit) or rs (delta-rs, same transactions).")]
Master = Annotated[str, typer.Option(help="local[N] or spark://host:port.")]
Every = Annotated[float | None, typer.Option(help="Go on, a batch at least every so many seconds; else end.")]


@app.command("tables")
def tables(
    topic: Annotated[str, typer.Argument(help="The topic to read.")],
    warehouse: Warehouse,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    schema: Annotated[str | None, typer.Option(help="infer, or fields: 'carrier STRING NOT NULL, ...'.")] = None,
    name: Annotated[str | None, typer.Option(help="Table name; the topic's by default.")] = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = "local[*]",
    every: Every = None,
) -> None:
    """A topic as a Delta table, exactly once; bad records are kept aside with the reason and the offset."""
    options = commands.TablesOptions(
        bootstrap_servers=bootstrap,
        warehouse=warehouse,
        topic=topic,
        name=name,
        schema=schema,
        profile=profile,
        commit=commit,
        master=master,
        trigger_seconds=every,
    )
    try:
        result = commands.run_tables(options, say=_say)
    except (commands.OptionError, RuntimeError) as error:
        fail(str(error))
        return
    console.print(str(result), markup=False)


@app.command("audit")
def audit(
    warehouse: Warehouse,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = "local[*]",
    every: Every = None,
    figures: Annotated[bool, typer.Option(help="Print the figures of the report as JSON.")] = False,
) -> None:
    """The routing audit trail as tables: events, roll-ups, and whether a sequence number is missing."""
    options = commands.AuditOptions(
        bootstrap_servers=bootstrap,
        warehouse=warehouse,
        profile=profile,
        commit=commit,
        master=master,
        trigger_seconds=every,
    )
    try:
        result = commands.run_audit(options, say=_say)
    except (commands.OptionError, RuntimeError) as error:
        fail(str(error))
        return
    if figures:
        console.print_json(json.dumps(commands.read_figures(warehouse)))
    else:
        console.print(str(result), markup=False)


@app.command("jars")
def jars(
    directory: Annotated[Path | None, typer.Option(help="Where to keep them; a cache folder by default.")] = None,
) -> None:
    """Fetch the pinned jars by Maven coordinates and check their hashes."""
    try:
        found = commands.fetch_jars(directory, say=_say)
    except RuntimeError as error:
        fail(str(error))
        return
    for jar in found:
        console.print(jar.name, markup=False)


def _say(line: str) -> None:
    console.print(line, markup=False, highlight=False)
