"""Options of `pipeline tables` about the rows of a table: which stay, which are rejected, how they are partitioned."""

from __future__ import annotations

from typing import Annotated

import typer

Upsert = Annotated[
    bool, typer.Option("--upsert", help="Keep the newest row of each key; a record without value deletes it.")
]
PartitionBy = Annotated[
    str | None, typer.Option(metavar="COLUMN,...", help="Partition a new table by these columns, in this order.")
]
Watermark = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=DELAY",
        help="Reject rows more than the delay (30s, 10m, 2h, 1d) older than the greatest time of earlier batches.",
    ),
]
Deduplicate = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN,...",
        help="Drop rows that repeat an earlier one in these columns, within the watermark's delay.",
    ),
]


def columns_of(text: str | None) -> tuple[str, ...]:
    """The names of a list with commas; none without the option."""
    return tuple(column.strip() for column in text.split(",")) if text is not None else ()
