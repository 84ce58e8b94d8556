"""`signalbox pipeline check`: is each record once in the table?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from signalbox.cli.connect import console, fail
from signalbox.cli.pipeline_runs.run_options import CheckpointLocation, Warehouse
from signalbox.cli.shell.shared_options import shared
from signalbox.pipeline import commands
from signalbox.pipeline.object_store.location import location_of


def check(
    name: Annotated[str, typer.Argument(help="The table's name.")],
    warehouse: Warehouse,
    checkpoint_location: CheckpointLocation = None,
) -> None:
    """Check that no record is in a table twice, by partition and offset; Kafka is not asked, and no Java is needed.

    Ends with status 2 if a record is repeated, or a row is at a position that no run has read.
    """
    try:
        result = commands.check_table(location_of(warehouse), name, checkpoint_location)
    except RuntimeError as error:
        fail(str(error))
    if shared().as_json:
        print(json.dumps(result))
    else:
        lines = [
            f"{name}: {result['rows']:,} rows, {result['rejected']:,} rejected records, "
            f"{result['without_row']:,} offsets without a row, {result['gap_offsets']:,} of them in noted gaps",
            *(f"{name}: {finding}" for finding in result["findings"] or ["no record is repeated"]),
        ]
        for line in lines:
            console.print(line, markup=False, highlight=False)
    if result["findings"]:
        raise typer.Exit(2)
