"""`signalbox pipeline rejected`: records that could not become rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from signalbox.cli.connect import console
from signalbox.cli.pipeline_runs.run_options import (
    CheckpointLocation,
    Conf,
    Memory,
    Warehouse,
    fail_run,
    spark_options,
)
from signalbox.cli.shell.shared_options import shared
from signalbox.cli.tables import format_options as formats
from signalbox.pipeline import commands
from signalbox.pipeline.object_store.location import location_of
from signalbox.pipeline.options import DEFAULT_MASTER, DEFAULT_MEMORY

app = typer.Typer(help="Records that could not become rows: list, show and replay them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The table's name.")]


@app.command("list")
def list_reasons(name: Name, warehouse: Warehouse) -> None:
    """Count the rejected records of a table by reason."""
    reasons = _result(lambda: commands.list_rejected(location_of(warehouse), name))
    if shared().as_json:
        print(json.dumps(reasons))
        return
    table = Table("reason", "records", "first record")
    for row in reasons:
        position = f"{row['topic']}, partition {row['partition']}, offset {row['offset']}"
        table.add_row(row["reason"], f"{row['records']:,}", position)
    console.print(table if reasons else f"{name} has no rejected records")


@app.command("show")
def show(
    name: Name,
    warehouse: Warehouse,
    limit: Annotated[int, typer.Option(min=1, help="How many records at most.")] = 20,
    partition: Annotated[int | None, typer.Option(min=0, help="Only this partition.")] = None,
    offset: Annotated[int | None, typer.Option(min=0, help="Only this offset.")] = None,
) -> None:
    """Print rejected records with their bytes, one JSON object a line: as text, or in base64 if they are no UTF-8."""

    def print_records() -> None:
        for row in commands.show_rejected(location_of(warehouse), name, limit, partition, offset):
            print(json.dumps(row, ensure_ascii=False))

    _result(print_records)


@app.command("replay")
def replay(
    name: Name,
    warehouse: Warehouse,
    mended: Annotated[
        Path | None, typer.Option(help="File of records as `show` prints them, with values that were mended.")
    ] = None,
    checkpoint_location: CheckpointLocation = None,
    profile: Annotated[str, typer.Option(help="auto, jars or pypi.")] = "auto",
    commit: Annotated[str, typer.Option(help="auto, spark or rs.")] = "auto",
    master: Annotated[str, typer.Option(help="local[N] or spark://host:port.")] = DEFAULT_MASTER,
    memory: Memory = DEFAULT_MEMORY,
    conf: Conf = None,
    value_schema: formats.ValueSchema = None,
    key_schema: formats.KeySchema = None,
    schema_registry: formats.SchemaRegistry = None,
    registry_config: formats.RegistryConfig = None,
) -> None:
    """Decode the rejected records again; those that are good now become rows, exactly once."""
    options = commands.TablesOptions(
        bootstrap_servers=shared().bootstrap,
        warehouse=location_of(warehouse),
        checkpoint_location=checkpoint_location,
        topic=name,
        name=name,
        profile=profile,
        commit=commit,
        master=master,
        memory=memory,
        spark_options=spark_options(conf, ui=False),
        formats=formats.begun_formats(schema_registry, registry_config, value_schema, key_schema),
    )

    as_json = shared().as_json

    def say(line: str) -> None:
        print(line, file=sys.stderr if as_json else sys.stdout, flush=True)

    result = _result(lambda: commands.replay_rejected(options, mended, say))
    if as_json:
        print(json.dumps(result.as_json()))


def _result(call: Any) -> Any:
    try:
        return call()
    except (commands.OptionError, RuntimeError) as error:
        return fail_run(error)
