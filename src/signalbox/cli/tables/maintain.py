"""`signalbox pipeline maintain`: compacts a table's files, deletes old ones, summarizes its log."""

from __future__ import annotations

import json
import sys
import threading
from typing import Annotated

import typer

from signalbox.cli.connect import console, fail
from signalbox.cli.pipeline_runs.run_options import CheckpointLocation, Warehouse, fail_run
from signalbox.cli.shell.shared_options import shared
from signalbox.pipeline import commands
from signalbox.pipeline.object_store.location import location_of


def maintain(
    name: Annotated[str, typer.Argument(help="The table's name.")],
    warehouse: Warehouse,
    checkpoint_location: CheckpointLocation = None,
    target_mb: Annotated[int, typer.Option(help="Size of data files to aim at, in MB.")] = 128,
    retention_hours: Annotated[
        int, typer.Option(help="Files that only versions older than this need are deleted.")
    ] = 168,
    cluster_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,...", help="Rewrite the table in Z-order of these columns instead of compacting."),
    ] = None,
    every: Annotated[
        float | None, typer.Option(min=1, help="Repeat with this interval in seconds; default: once.")
    ] = None,
) -> None:
    """Compact a table's small files, delete old files, write a checkpoint of its log; pipelines may run meanwhile."""

    def say(line: str) -> None:
        if shared().as_json:
            print(line, file=sys.stderr, flush=True)
        else:
            console.print(line, markup=False, highlight=False)

    columns = tuple(column.strip() for column in cluster_by.split(",")) if cluster_by else ()
    never = threading.Event()
    while True:
        try:
            tables = commands.maintain_table(
                location_of(warehouse), name, target_mb, retention_hours, say, columns, checkpoint_location
            )
        except commands.TemporaryError as error:
            if every is None:
                fail(str(error))
            say(f"{error}; the next attempt is in {every:g} s")
        except (commands.OptionError, RuntimeError) as error:
            fail_run(error)
        else:
            if shared().as_json:
                print(json.dumps([table.as_json() for table in tables]), flush=True)
        if every is None:
            return
        never.wait(every)
