"""Metadata requests and changes of leadership beside saturated data planes, and on an idle cluster (SPEC C5).

Load: 24 connections to the brokers that lead six partitions, each with one batch of 1 MB in flight, acks=1. For ours
also: the part of a change between the controller's decision and the brokers' responses that it is applied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench import frames
from bench.c_programs import Load, probe
from bench.kafka.sides import Side, metadata
from bench.planes.leadership import Moves
from bench.rounds import Rounds
from bench.table import Row, absolute

_LOAD_TOPIC, _LOAD_PARTITIONS = "load", 6
_BATCH_BYTES, _RECORDS, _CONNECTIONS = 1_048_576, 1_000, 8
_FOREVER_S, _WARM_S, _SETTLE_S = 3_600.0, 2.0, 1.0
_METADATA_A_SECOND = 100
_OF_KAFKA = 0.3
QUANTILES = {"p50": 0.5, "p99": 0.99}
_METADATA_BOUNDS_MS = (4.0, 20.0)
_LEADERSHIP_BOUNDS_MS = (45.0, 120.0)


class BesideLoad:
    """One side, started. `changes` of leadership and seconds of Metadata requests in each half of a round."""

    def __init__(self, side: Side, changes: int, seconds: float) -> None:
        self._side = side
        self._changes = changes
        self._seconds = seconds
        self._moves = prepared(side)

    @property
    def name(self) -> str:
        """Of the side."""
        return self._side.name

    def close(self) -> None:
        """Closes the connections; the side goes on."""
        self._moves.close()

    def warm(self) -> Mapping[str, float]:
        """What a round does, beside load: a JVM and the memory of the logs need it."""
        with saturated(self._side):
            _round_trips(self._side, self._seconds)
            self._moves.milliseconds(max(3, self._changes // 2))
        return {}

    def measure(self) -> Mapping[str, float]:
        """One round: idle, then beside load. Quantiles in milliseconds, by `figure`."""
        time.sleep(_SETTLE_S)
        idle = self._durations()
        with saturated(self._side):
            loaded = self._durations()
        figures = {}
        for what in _NAMES:
            for label, share in QUANTILES.items():
                figures[figure(what, label)] = quantile(loaded[what], share)
                figures[figure(what, label, idle=True)] = quantile(idle[what], share)
        return figures

    def applied(self) -> Mapping[str, float]:
        """Milliseconds from decisions of the controller to LeaderAndIsr applied, by quantile; empty if not known."""
        quantiles = {label: self._side.until_applied_ms(share) for label, share in QUANTILES.items()}
        return {label: found for label, found in quantiles.items() if found is not None}

    def _durations(self) -> dict[str, list[float]]:
        metadata_ms = _round_trips(self._side, self._seconds)
        return {"metadata": metadata_ms, "leadership": self._moves.milliseconds(self._changes)}


def figure(what: str, label: str, *, idle: bool = False) -> str:
    """The name of a quantile of one round."""
    return f"{'idle ' if idle else ''}{what} {label}"


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


def rows_beside_load(found: Mapping[str, Rounds]) -> Iterator[Row]:
    """Our figures with bounds of their own, then as shares of the reference; rows without a reference fail."""
    for what, bounds in (("metadata", _METADATA_BOUNDS_MS), ("leadership", _LEADERSHIP_BOUNDS_MS)):
        for label, bound in zip(QUANTILES, bounds, strict=True):
            rounds = found[figure(what, label)]
            yield rounds.own_row(f"{_NAMES[what]}, beside 24 connections of 1 MB, {label}, ms", bound)
            yield rounds.row(f"{_NAMES[what]}, beside 24 connections of 1 MB, ours / Kafka, {label}, ms", _OF_KAFKA)


def rows_of_one_side(name: str, loaded_and_idle: Mapping[str, Rounds], applied: Mapping[str, float]) -> Iterator[Row]:
    """The loaded and the idle figure of each quantile, without bounds."""
    for label in QUANTILES:
        for what, title in _NAMES.items():
            rounds = loaded_and_idle[figure(what, label)]
            yield rounds.row(f"{name}: {title}, saturated / idle, {label}, ms", None)
    for label, found in applied.items():
        yield absolute(f"{name}: decision to LeaderAndIsr applied, {label}, ms", found, None)


def loaded_and_idle(found: Mapping[str, Rounds], *, reference: bool = False) -> dict[str, Rounds]:
    """The loaded figures of one side beside its idle ones."""
    names = [figure(what, label) for what in _NAMES for label in QUANTILES]
    sides = {name: (found[name], found["idle " + name]) for name in names}
    if reference:
        return {name: Rounds(loaded.reference, idle.reference) for name, (loaded, idle) in sides.items()}
    return {name: Rounds(loaded.ours, idle.ours) for name, (loaded, idle) in sides.items()}


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of sorted figures."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


_NAMES = {"metadata": "Metadata round trip", "leadership": "ElectLeaders to accepted produce"}


def _round_trips(side: Side, seconds: float) -> list[float]:
    """Of Metadata for one topic, milliseconds, sorted."""
    frame = frames.metadata_of(_LOAD_TOPIC)
    return [taken_us / 1_000 for taken_us in probe(side.addresses[1][1], seconds, _METADATA_A_SECOND, frame)]
