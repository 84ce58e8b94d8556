"""The data set: complete, as plain values, one record per row."""

from __future__ import annotations

import json

from signalbox.cli.demo.flights import COLUMNS, FLIGHTS, load_flights


def test_every_flight_as_json() -> None:
    flights = load_flights()
    assert len(flights.rows) == len(flights.records) == FLIGHTS
    first = dict(zip(COLUMNS, flights.rows[0], strict=True))
    assert (first["id"], first["carrier"], first["origin"], first["dest"], first["flight"]) == (
        0,
        "UA",
        "EWR",
        "IAH",
        1545,
    )
    key, value = flights.records[0]
    assert key == b"UA"
    assert json.loads(value) == first
    cancelled = next(row for row in flights.rows if row[COLUMNS.index("dep_time")] is None)
    assert not any(isinstance(value, float) for value in cancelled)
