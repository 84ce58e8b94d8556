"""`signalbox pipeline`: writes topics into lakehouse tables with Spark, exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import client_properties, console, errors, fail, say
from signalbox.cli.pipeline_runs.run_options import (
    CheckpointLocation,
    Conf,
    FailOnDataLoss,
    Interval,
    Memory,
    MetricsPort,
    Ui,
    Warehouse,
    fail_run,
    position_of,
    reject_unreachable,
    reported_run,
    seconds_of,
    spark_fields,
)
from signalbox.cli.shell.shared_options import shared
from signalbox.cli.tables import format_options as formats
from signalbox.cli.tables import rejected
from signalbox.cli.tables.check import check
from signalbox.cli.tables.maintain import maintain
from signalbox.cli.tables.table_options import Deduplicate, PartitionBy, Upsert, Watermark, columns_of
from signalbox.pipeline import commands
from signalbox.pipeline.audit.completeness import completeness_line
from signalbox.pipeline.object_store.location import location_of
from signalbox.pipeline.options import (
    ALERTS_TOPIC,
    DEFAULT_MASTER,
    DEFAULT_MAX_RECORDS_PER_BATCH,
    DEFAULT_MEMORY,
)
from signalbox.pipeline.report.page import report_document, report_page

app = typer.Typer(help="Write topics and the audit trail to Delta tables with Spark.", no_args_is_help=True)
app.add_typer(rejected.app, name="rejected")
app.command("maintain")(maintain)
app.command("check")(check)

Profile = Annotated[str, typer.Option(help="auto, jars (Spark's Kafka connector, Delta's sink) or pypi (no jars).")]
Commit = Annotated[str, typer.Option(help="auto, spark (Delta's own commit) or rs (delta-rs, same transactions).")]
Master = Annotated[str, typer.Option(help="local[N] or spark://host:port.")]
MaxRecords = Annotated[int, typer.Option(min=1, help="Records of a batch at most.")]
Topics = Annotated[list[str] | None, typer.Argument(metavar="TOPIC...", help="The topics to read, a table for each.")]
MoreTopics = Annotated[
    list[str] | None, typer.Option("--topic", "-t", metavar="TOPIC,...", help="More topics, or a list with commas.")
]
TopicPattern = Annotated[str | None, typer.Option(metavar="REGEX", help="All topics whose whole name matches.")]
StartingOffsets = Annotated[
    str | None,
    typer.Option(metavar="OFFSETS", help='earliest, latest, topic:0:5,topic:1:7 or {"topic": {"0": 5, "1": 7}}.'),
]
StartingTimestamp = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Start at the first record of this time: 2026-11-26T19:00:00, ms, 15m (ago)."),
]
EndingOffsets = Annotated[
    str | None, typer.Option(metavar="OFFSETS", help="End there; the forms of --starting-offsets.")
]
EndingTimestamp = Annotated[str | None, typer.Option(metavar="TIME", help="End before the first record of this time.")]


@app.command("tables")
def tables(
    warehouse: Warehouse,
    topics: Topics = None,
    topic: MoreTopics = None,
    topic_pattern: TopicPattern = None,
    schema: Annotated[str | None, typer.Option(help="infer, or fields: 'carrier STRING NOT NULL, ...'.")] = None,
    name: Annotated[str | None, typer.Option(help="Table name of a single topic (default: the topic's name).")] = None,
    checkpoint_location: CheckpointLocation = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = DEFAULT_MASTER,
    memory: Memory = DEFAULT_MEMORY,
    conf: Conf = None,
    ui: Ui = False,
    interval: Interval = None,
    max_records_per_batch: MaxRecords = DEFAULT_MAX_RECORDS_PER_BATCH,
    metrics_port: MetricsPort = None,
    starting_offsets: StartingOffsets = None,
    starting_timestamp: StartingTimestamp = None,
    ending_offsets: EndingOffsets = None,
    ending_timestamp: EndingTimestamp = None,
    fail_on_data_loss: FailOnDataLoss = True,
    upsert: Upsert = False,
    partition_by: PartitionBy = None,
    watermark: Watermark = None,
    deduplicate: Deduplicate = None,
    value_format: formats.ValueFormat = None,
    value_schema: formats.ValueSchema = None,
    value_message: formats.ValueMessage = "",
    value_subject: formats.ValueSubject = None,
    key_format: formats.KeyFormat = None,
    key_schema: formats.KeySchema = None,
    key_message: formats.KeyMessage = "",
    key_subject: formats.KeySubject = None,
    headers: formats.Headers = None,
    csv_delimiter: formats.CsvDelimiter = ",",
    schema_registry: formats.SchemaRegistry = None,
    registry_config: formats.RegistryConfig = None,
) -> None:
    """Write topics to Delta tables, exactly once. Invalid records go to a dead-letter table."""
    selection = _selection([*(topics or ()), *(topic or ())], topic_pattern, name)
    options = commands.TablesOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=location_of(warehouse),
        checkpoint_location=checkpoint_location,
        topic=selection.names[0] if selection.is_one else "",
        name=name,
        schema=schema,
        upsert=upsert,
        partition_by=columns_of(partition_by),
        watermark=watermark,
        deduplicate=columns_of(deduplicate),
        formats=formats.format_options(
            (value_format, value_schema, value_message, value_subject),
            (key_format, key_schema, key_message, key_subject),
            headers,
            csv_delimiter,
            (schema_registry, registry_config),
        ),
        **spark_fields(profile, commit, master, memory, conf, ui),
        trigger_seconds=seconds_of(interval),
        max_records_per_batch=max_records_per_batch,
        starting=position_of("starting", starting_offsets, starting_timestamp) or "earliest",
        ending=position_of("ending", ending_offsets, ending_timestamp),
        fail_on_data_loss=fail_on_data_loss,
    )
    _write_tables(options, selection, metrics_port)


def _selection(names: list[str], pattern: str | None, table: str | None) -> commands.TopicSelection:
    try:
        selection = commands.TopicSelection.of(names, pattern)
    except commands.OptionError as error:
        fail(str(error), code=2)
    if table is not None and not selection.is_one:
        fail("--name is for a single topic: several topics become tables of their own names", code=2)
    return selection


def _write_tables(
    options: commands.TablesOptions, selection: commands.TopicSelection, metrics_port: int | None
) -> None:
    reject_unreachable(options)
    try:
        with reported_run(as_json=shared().as_json, metrics_port=metrics_port) as report:
            if selection.is_one:
                one = commands.run_tables(options, listener=report.listener, say=report.say)
                result, failed = one.as_json(), {}
            else:
                several = commands.run_topics(options, selection, listener=report.listener, say=report.say)
                result, failed = several.as_json(), several.failed
    except (commands.OptionError, RuntimeError) as error:
        fail_run(error)
    if shared().as_json:
        print(json.dumps(result))
    if failed:
        fail(f"{len(failed)} of the topics failed: {', '.join(failed)}")


@app.command("backfill")
def backfill(
    topic: Annotated[str, typer.Argument(help="The topic of the table.")],
    warehouse: Warehouse,
    name: Annotated[str | None, typer.Option(help="Table name (default: the topic's name).")] = None,
    checkpoint_location: CheckpointLocation = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = DEFAULT_MASTER,
    memory: Memory = DEFAULT_MEMORY,
    conf: Conf = None,
    ui: Ui = False,
    max_records_per_batch: MaxRecords = DEFAULT_MAX_RECORDS_PER_BATCH,
    metrics_port: MetricsPort = None,
    starting_offsets: StartingOffsets = None,
    starting_timestamp: StartingTimestamp = None,
    ending_offsets: EndingOffsets = None,
    ending_timestamp: EndingTimestamp = None,
    fail_on_data_loss: FailOnDataLoss = True,
    schema_registry: formats.SchemaRegistry = None,
    registry_config: formats.RegistryConfig = None,
) -> None:
    """Add records from before the beginning of a table to it, none twice. Ends with status 1 if it was stopped."""
    options = commands.TablesOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=location_of(warehouse),
        checkpoint_location=checkpoint_location,
        topic=topic,
        name=name,
        formats=formats.begun_formats(schema_registry, registry_config),
        **spark_fields(profile, commit, master, memory, conf, ui),
        max_records_per_batch=max_records_per_batch,
        starting=position_of("starting", starting_offsets, starting_timestamp) or "earliest",
        ending=position_of("ending", ending_offsets, ending_timestamp),
        fail_on_data_loss=fail_on_data_loss,
    )
    reject_unreachable(options)
    try:
        with reported_run(as_json=shared().as_json, metrics_port=metrics_port) as report:
            result = commands.run_backfill(options, listener=report.listener, say=report.say)
    except (commands.OptionError, RuntimeError) as error:
        fail_run(error)
    if shared().as_json:
        print(json.dumps(result.as_json()))
    if not result.complete:
        raise typer.Exit(1)


@app.command("audit")
def audit(
    warehouse: Warehouse,
    checkpoint_location: CheckpointLocation = None,
    profile: Profile = "auto",
    commit: Commit = "auto",
    master: Master = DEFAULT_MASTER,
    memory: Memory = DEFAULT_MEMORY,
    conf: Conf = None,
    ui: Ui = False,
    interval: Interval = None,
    max_records_per_batch: MaxRecords = DEFAULT_MAX_RECORDS_PER_BATCH,
    metrics_port: MetricsPort = None,
    fail_on_data_loss: FailOnDataLoss = True,
    alerts: Annotated[bool, typer.Option("--alerts", help="Write alerts of the events to a topic.")] = False,
    alerts_topic: Annotated[str, typer.Option(metavar="TOPIC", help="The topic of --alerts.")] = ALERTS_TOPIC,
    broker_principal: Annotated[
        list[str] | None, typer.Option(metavar="PRINCIPAL", help="A principal of brokers, for --alerts; repeatable.")
    ] = None,
    public_listener: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A listener of clients, for --alerts; repeatable.")
    ] = None,
    figures: Annotated[bool, typer.Option(help="Print the figures of the report as JSON.")] = False,
) -> None:
    """Write the audit trail to tables: events, roll-ups, and a check for missing sequence numbers.

    --json prints the figures of the report, as --figures does. Ends with status 2 when the audit trail is not complete.
    """
    figures = figures or shared().as_json
    options = commands.AuditOptions(
        bootstrap_servers=shared().bootstrap,
        client_options=client_properties(),
        warehouse=location_of(warehouse),
        checkpoint_location=checkpoint_location,
        **spark_fields(profile, commit, master, memory, conf, ui),
        trigger_seconds=seconds_of(interval),
        max_records_per_batch=max_records_per_batch,
        fail_on_data_loss=fail_on_data_loss,
        alerts_topic=alerts_topic if alerts else None,
        broker_principals=tuple(broker_principal or ()),
        public_listeners=tuple(public_listener or ()),
    )
    reject_unreachable(options)
    try:
        with reported_run(as_json=figures, metrics_port=metrics_port) as report:
            result = commands.run_audit(options, listener=report.listener, say=report.say)
    except (commands.OptionError, RuntimeError) as error:
        fail_run(error)
    if figures:
        print(json.dumps(result.figures))
    if not result.complete:
        raise typer.Exit(2)


@app.command("report")
def report(
    warehouse: Warehouse,
    name: Annotated[str, typer.Option(help="Table of the audit events.")] = "audit_events",
    checkpoint_location: CheckpointLocation = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file (default: report.html in the warehouse; of s3:// here)."),
    ] = None,
) -> None:
    """Write the report of the audit trail as an HTML page, from its tables alone: no broker, no Spark, no Java.

    With --json the report is printed as JSON. Ends with status 2 when the audit trail is not complete.
    """
    location = location_of(warehouse)
    try:
        figures = commands.read_figures(location, name, checkpoint_location)
    except FileNotFoundError as error:
        fail(f"{error}: write the audit trail with `signalbox pipeline audit` first")
    except (commands.OptionError, RuntimeError) as error:
        fail_run(error)
    if shared().as_json:
        print(json.dumps(report_document(figures)))
    else:
        page = output or (location if isinstance(location, Path) else Path()) / "report.html"
        try:
            page.write_text(report_page(figures, str(location)), encoding="utf-8")
        except OSError as error:
            fail(f"--output: {page} cannot be written: {error.strerror}")
        say(f"{page}: {len(report_document(figures)['anomalies'])} anomalies, {completeness_line(figures)}")
    if not figures["completeness"]["complete"]:
        raise typer.Exit(2)


@app.command("jars")
def jars(
    directory: Annotated[Path | None, typer.Option(help="Target directory (default: a cache directory).")] = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Print their paths with commas, as spark-submit's --jars takes them.")
    ] = False,
) -> None:
    """Fetch the pinned jars by Maven coordinates and check their hashes."""
    try:
        fetched = commands.fetch_jars(directory, say=_say_apart if as_list or shared().as_json else _say)
    except RuntimeError as error:
        fail(str(error))
        return
    if shared().as_json:
        print(json.dumps([str(jar) for jar in fetched]))
        return
    if as_list:
        print(",".join(str(jar) for jar in fetched))
        return
    for jar in fetched:
        console.print(jar.name, markup=False)


def _say(line: str) -> None:
    console.print(line, markup=False, highlight=False)


def _say_apart(line: str) -> None:
    errors.print(line, markup=False, highlight=False)
