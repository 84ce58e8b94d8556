"""Metadata requests and changes of leadership beside saturated data planes, and on an idle cluster (SPEC C5).

Load: 24 connections to the brokers that lead six partitions, each with one batch of 1 MB in flight, acks=1. For ours
also: the part of a change between the controller's decision and the brokers' responses that it is applied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench import frames
from bench.c_programs import Load, probe
from bench.kafka.sides import Side, metadata
from bench.planes.leadership import Moves
from bench.table import Row, absolute, at_most

_LOAD_TOPIC, _LOAD_PARTITIONS = "load", 6
_BATCH_BYTES, _RECORDS, _CONNECTIONS = 1_048_576, 1_000, 8
_FOREVER_S, _WARM_S = 3_600.0, 2.0
_METADATA_A_SECOND = 100
_OF_KAFKA = 0.3
_QUANTILES = {"p50": 0.5, "p99": 0.99}
_METADATA_BOUNDS_MS = (4.0, 20.0)
_LEADERSHIP_BOUNDS_MS = (45.0, 120.0)


@dataclass(frozen=True)
class Measured:
    """Durations in milliseconds, sorted. `applied`: quantiles by `_QUANTILES`, None where a side has no such trace."""

    name: str
    idle_metadata: Sequence[float]
    idle_leadership: Sequence[float]
    metadata: Sequence[float]
    leadership: Sequence[float]
    applied: Sequence[float | None]


def measure_side(side: Side, changes: int, seconds: float) -> Measured:
    """Starts the side, measures it idle and loaded, stops it."""
    try:
        moves = prepared(side)
        with saturated(side):  # warms a JVM too
            moves.milliseconds(max(3, changes // 10))
        time.sleep(_WARM_S)
        idle_metadata, idle_leadership = _round_trips(side, seconds), moves.milliseconds(changes)
        with saturated(side):
            loaded_metadata, loaded_leadership = _round_trips(side, seconds), moves.milliseconds(changes)
        applied = [side.until_applied_ms(share) for share in _QUANTILES.values()]
        moves.close()
    finally:
        side.stop()
    return Measured(side.name, idle_metadata, idle_leadership, loaded_metadata, loaded_leadership, applied)


def prepared(side: Side) -> Moves:
    """Starts the side and creates the topics of the load and of the changes."""
    side.start()
    side.create_topic(_LOAD_TOPIC, _LOAD_PARTITIONS, 1)
    return Moves(side)


@contextmanager
def saturated(side: Side) -> Iterator[None]:
    """Every broker's data plane is saturated inside the block."""
    batch = frames.batch_of(_BATCH_BYTES, _RECORDS)
    led: dict[int, int] = {}
    for partition in metadata(side.addresses[1], [_LOAD_TOPIC]).topics[0].partitions:
        led.setdefault(partition.leader_id, partition.partition_index)
    processes = []
    for node_id, index in led.items():
        frame = frames.produce(_LOAD_TOPIC, batch, _RECORDS, 1, index=index)
        load = Load(f"leadership-{node_id}", frame, _CONNECTIONS)
        processes.append(load.start(side.addresses[node_id][1], _FOREVER_S))
    try:
        time.sleep(_WARM_S)
        yield
        if any(process.poll() is not None for process in processes):
            raise RuntimeError(f"{side.name}: the load has ended by itself")
    finally:
        for process in processes:
            process.terminate()
            process.communicate()


def rows_beside_load(ours: Measured, reference: Measured | None) -> Iterator[Row]:
    """Our figures with bounds of their own, then as shares of the reference; rows without a reference fail."""
    for what, bounds in (("metadata", _METADATA_BOUNDS_MS), ("leadership", _LEADERSHIP_BOUNDS_MS)):
        durations: Sequence[float] = getattr(ours, what)
        for (label, share), bound in zip(_QUANTILES.items(), bounds, strict=True):
            found = quantile(durations, share)
            yield absolute(f"{_NAMES[what]}, beside 24 connections of 1 MB, {label}, ms", found, bound)
            metric = f"{_NAMES[what]}, beside 24 connections of 1 MB, ours / Kafka, {label}, ms"
            if reference is None:
                yield Row(metric, found, None, None, _OF_KAFKA, False)
            else:
                yield at_most(metric, found, quantile(getattr(reference, what), share), _OF_KAFKA)
    for measured in (ours, reference):
        if measured is not None:
            yield from rows_of_one_side(measured)


def rows_of_one_side(measured: Measured) -> Iterator[Row]:
    """The loaded and the idle figure of each quantile, without bounds."""
    for label, share in _QUANTILES.items():
        for what in _NAMES:
            loaded, idle = getattr(measured, what), getattr(measured, f"idle_{what}")
            metric = f"{measured.name}: {_NAMES[what]}, saturated / idle, {label}, ms"
            yield at_most(metric, quantile(loaded, share), quantile(idle, share), None)
    for label, found in zip(_QUANTILES, measured.applied, strict=True):
        if found is not None:
            yield absolute(f"{measured.name}: decision to LeaderAndIsr applied, {label}, ms", found, None)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of sorted figures."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


_NAMES = {"metadata": "Metadata round trip", "leadership": "ElectLeaders to accepted produce"}


def _round_trips(side: Side, seconds: float) -> list[float]:
    """Of Metadata for one topic, milliseconds, sorted."""
    frame = frames.metadata_of(_LOAD_TOPIC)
    return [taken_us / 1_000 for taken_us in probe(side.addresses[1][1], seconds, _METADATA_A_SECOND, frame)]
