"""`signalbox pipeline`: writes topics into lakehouse tables with Spark, exactly once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import client_properties, console, fail
from signalbox.cli.shell.instants import instant_ms
from signalbox.cli.shell.shared_options import shared
from signalbox.pipeline import commands

app = typer.Typer(help="Write topics and the audit trail to Delta tables with Spark.", no_args_is_help=True)

Warehouse = Annotated[Path, typer.Option(help="Directory of the tables.")]
Profile = Annotated[str, typer.Option(help="auto, jars (Spark's Kafka connector, Delta's sink) or pypi (no jars).")]
Commit = Annotated[str, typer.Option(help="auto, spark (Delta's own commit) or rs (delta-rs, same transactions).")]
Master = Annotated[str, typer.Option(help="local[N] or spark://host:port.")]
Every = Annotated[
    float | None,
    typer.Option(
        help="Run continuously, with this trigger interval in seconds; default: exit when all records are read."
    ),
]

StartingOffsets = Annotated[
    str | None,
    typer.Option(metavar="OFFSETS", help='earliest, latest, topic:0:5,topic:1:7 or {"topic": {"0": 5, "1": 7}}.'),
]
StartingTimestamp = Annotated[
    str | None, typer.Option(metavar="TIME", help="Start at the first record of this time: ISO 8601, ms, or 15m ago.")
]
EndingOffsets = Annotated[
    str | None, typer.Option(metavar="OFFSETS", help="End there; the forms of --starting-offsets.")
]
EndingTimestamp = Annotated[str | None, typer.Option(metavar="TIME", help="End before the first record of this time.")]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")]


@app.command("tables")
def tables(
    warehouse: Warehouse,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC...", help="The topics to read, a table for each.")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", "-t", metavar="TOPIC,...", help="More topics, or a list with commas.")
    ] = None,
    topic_pattern: Annotated[
        str | None, typer.Option(metavar="REGEX", help="All topics whose whole name matches.")
    ] = None,
    schema: Annotated[str | None, typer.Option(help="infer, or fields: 'carrier STRING NOT NULL, ...'.")] = None,
    name: Annotated[str | None, typer.Option(help="Table name of a single topic (default: the topic's name).")] = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = "local[*]",
    every: Every = None,
    starting_offsets: StartingOffsets = None,
    starting_timestamp: StartingTimestamp = None,
    ending_offsets: EndingOffsets = None,
    ending_timestamp: EndingTimestamp = None,
    as_json: AsJson = False,
) -> None:
    """Write topics to Delta tables, exactly once. Invalid records go to a dead-letter table."""
    say = _say_aside if as_json else _say
    try:
        selection = commands.TopicSelection.of([*(topics or ()), *(topic or ())], topic_pattern)
    except commands.OptionError as error:
        fail(str(error), code=2)
    if name is not None and not selection.is_one:
        fail("--name is for a single topic: several topics become tables of their own names", code=2)
    options = commands.TablesOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=warehouse,
        topic=selection.names[0] if selection.is_one else "",
        name=name,
        schema=schema,
        profile=profile,
        commit=commit,
        master=master,
        trigger_seconds=every,
        starting=_position("starting", starting_offsets, starting_timestamp) or "earliest",
        ending=_position("ending", ending_offsets, ending_timestamp),
    )
    try:
        if selection.is_one:
            result, failed = commands.run_tables(options, say=say).as_json(), {}
        else:
            several = commands.run_topics(options, selection, say=say)
            result, failed = several.as_json(), several.failed
    except (commands.OptionError, RuntimeError) as error:
        fail(str(error))
    if as_json:
        print(json.dumps(result))
    if failed:
        fail(f"{len(failed)} of the topics failed: {', '.join(failed)}")


@app.command("backfill")
def backfill(
    topic: Annotated[str, typer.Argument(help="The topic of the table.")],
    warehouse: Warehouse,
    name: Annotated[str | None, typer.Option(help="Table name (default: the topic's name).")] = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = "local[*]",
    starting_offsets: StartingOffsets = None,
    starting_timestamp: StartingTimestamp = None,
    ending_offsets: EndingOffsets = None,
    ending_timestamp: EndingTimestamp = None,
    as_json: AsJson = False,
) -> None:
    """Add records from before the beginning of a table to it, none twice. Ends with status 1 if it was stopped."""
    options = commands.TablesOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=warehouse,
        topic=topic,
        name=name,
        profile=profile,
        commit=commit,
        master=master,
        starting=_position("starting", starting_offsets, starting_timestamp) or "earliest",
        ending=_position("ending", ending_offsets, ending_timestamp),
    )
    try:
        result = commands.run_backfill(options, say=_say_aside if as_json else _say)
    except (commands.OptionError, RuntimeError) as error:
        fail(str(error))
    if as_json:
        print(json.dumps(result.as_json()))
    if not result.complete:
        raise typer.Exit(1)


@app.command("audit")
def audit(
    warehouse: Warehouse,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = "local[*]",
    every: Every = None,
    figures: Annotated[bool, typer.Option(help="Print the figures of the report as JSON.")] = False,
) -> None:
    """Write the audit trail to tables: events, roll-ups, and a check for missing sequence numbers.

    Ends with status 2 when the audit trail is not complete.
    """
    options = commands.AuditOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=warehouse,
        profile=profile,
        commit=commit,
        master=master,
        trigger_seconds=every,
    )
    try:
        result = commands.run_audit(options, say=_say_aside if figures else _say)
    except (commands.OptionError, RuntimeError) as error:
        fail(str(error))
        return
    if figures:
        print(json.dumps(result.figures))
    if not result.complete:
        raise typer.Exit(2)


@app.command("jars")
def jars(
    directory: Annotated[Path | None, typer.Option(help="Target directory (default: a cache directory).")] = None,
) -> None:
    """Fetch the pinned jars by Maven coordinates and check their hashes."""
    try:
        fetched = commands.fetch_jars(directory, say=_say)
    except RuntimeError as error:
        fail(str(error))
        return
    for jar in fetched:
        console.print(jar.name, markup=False)


def _position(which: str, offsets: str | None, timestamp: str | None) -> str | None:
    """The position of two options, of which one may be set."""
    if offsets is not None and timestamp is not None:
        fail(f"--{which}-offsets and --{which}-timestamp exclude each other", code=2)
    if timestamp is None:
        return offsets
    try:
        return f"@{instant_ms(timestamp)}"
    except ValueError as error:
        fail(f"--{which}-timestamp: {error}", code=2)


def _say_aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _say(line: str) -> None:
    console.print(line, markup=False, highlight=False)
