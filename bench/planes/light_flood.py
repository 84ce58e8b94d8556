"""One connection with batches of 1 MB beside a flood of light requests: the share that the heavy connection keeps.

100 connections send 20 ApiVersions requests each at a time, so that light requests wait at every moment.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench import frames
from bench.c_programs import Load
from bench.planes.stage import Stage
from bench.subject import PRODUCE_TOPIC
from bench.table import Row

FLOOD = "a flood of light requests"
_BATCH_BYTES, _RECORDS, _ACKS_ALL = 1_048_576, 1_000, -1
_CONNECTIONS, _IN_FLIGHT = 100, 20
_ROUNDS, _BOUND = 5, 2.5


def light_flood_rows(stage: Stage, seconds: float) -> Iterator[Row]:
    """MB/s of the heavy connection, alone and beside the flood in turn; medians of the rounds."""
    batch = frames.batch_of(_BATCH_BYTES, _RECORDS)
    heavy = Load("flood-heavy", frames.produce(PRODUCE_TOPIC, batch, _RECORDS, _ACKS_ALL), 1)
    light = Load("flood-light", frames.api_versions(), _CONNECTIONS, _IN_FLIGHT)
    alone, beside, requests = [], [], []
    for _ in range(_ROUNDS):
        alone.append(_rate(heavy, stage.port, seconds / _ROUNDS))
        flood = light.start(stage.port, seconds / _ROUNDS + 0.5)
        beside.append(_rate(heavy, stage.port, seconds / _ROUNDS))
        found = light.finish(flood)
        requests.append(found.answers / found.seconds)
    with_flood, without = statistics.median(beside), statistics.median(alone)
    ratio = without / with_flood
    metric = f"1 MB produce of one connection, beside {FLOOD} (ratio: alone / beside), MB/s"
    yield Row(metric, with_flood, without, ratio, _BOUND, ratio <= _BOUND)
    yield Row(f"{FLOOD[2:]}, answers a second", statistics.median(requests), None, None, None, None)


def _rate(load: Load, port: int, seconds: float) -> float:
    found = load.run(port, seconds)
    return found.request_bytes / found.seconds / 1e6
