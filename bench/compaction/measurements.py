"""What is measured at one side in one round: processor time of compaction, and produce without and beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from bench import frames
from bench.c_programs import probe
from bench.compaction.compacted_topic import CompactedTopic
from bench.kafka.measurements import Figures
from bench.kafka.sides import Side, until
from bench.processes import cpu_seconds_with_children
from bench.rounds import Rounds
from bench.table import Row

_CLEAN_S = 300.0
_LOAD_TOPIC = "load"
_PROBE_BYTES, _PROBE_S, _PROBES_A_SECOND = 1_100, 0.5, 200.0
_SMALL_BYTES = 100


@dataclass(frozen=True)
class Plan:
    """`rounds`; `megabytes` of records of 1 KB and of 100 bytes that are compacted; `seconds` of produce requests
    without and beside compaction of `beside_megabytes`, which must take at least a second."""

    rounds: int
    megabytes: int
    small_megabytes: int
    seconds: float
    beside_megabytes: int


class Measurements:
    """The measurements of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def prepare(self, side: Side) -> Figures:
        """Creates the topic of the produce requests, and compacts once: a JVM needs it."""
        side.create_topic(_LOAD_TOPIC, 1, 3)
        self.clean(1_000, self._plan.megabytes)(side)
        return {}

    def clean(self, record_bytes: int, megabytes: int) -> Callable[[Side], Figures]:
        """CPU s of the leader, its cleaner process included, per GB that is read."""

        def measured(side: Side) -> Figures:
            topic = CompactedTopic(side, record_bytes, megabytes)
            pid = side.pids[topic.leader]
            before = cpu_seconds_with_children(pid)
            topic.release()
            until(lambda: topic.is_clean, _CLEAN_S)
            return {"clean": (cpu_seconds_with_children(pid) - before) / (topic.size_bytes / 1e9)}

        return measured

    def produce(self, side: Side) -> Figures:
        """p99 of a produce request with acks=all in milliseconds, on the broker that compacts."""
        topic = CompactedTopic(side, _SMALL_BYTES, self._plan.beside_megabytes)
        send = partial(_round_trips, side.addresses[side.leader(_LOAD_TOPIC)][1])
        pieces = int(self._plan.seconds / _PROBE_S)
        alone = sorted(taken for _ in range(pieces) for taken in send())
        topic.release()
        beside: list[float] = []
        counted = 0
        while counted < pieces:
            piece = send()
            if topic.is_clean:
                break
            beside += piece
            counted += 1
        if counted * _PROBE_S < 1:
            raise RuntimeError(f"{side.name}: compaction has ended after {counted} pieces of {_PROBE_S} s")
        until(lambda: topic.is_clean, _CLEAN_S)
        figures = {"alone": _p99(alone), "beside": _p99(sorted(beside))}
        return {**figures, "beside / alone": figures["beside"] / figures["alone"]}


def rows_of_cleaning(found: Mapping[str, Rounds], size: str, bound: float | None) -> Iterator[Row]:
    """The row of one record size."""
    yield found["clean"].row(f"compaction of records of {size}, CPU s a GB", bound)


def rows_of_produce(found: Mapping[str, Rounds]) -> Iterator[Row]:
    """Our figures alone: how long compaction takes differs between the sides."""
    yield found["alone"].own_row("produce of 1 KB, acks=all, RF 3, p99, ms", None)
    yield found["beside"].own_row("the same beside compaction of records of 100 bytes, p99, ms", None)
    yield found["beside / alone"].own_row("produce p99 beside compaction / without, ratio", 2.0)


def _round_trips(port: int) -> list[float]:
    frame = frames.produce(_LOAD_TOPIC, frames.plain(frames.batch_of(_PROBE_BYTES, 1)), 1, -1)
    return [taken_us / 1_000 for taken_us in probe(port, _PROBE_S, _PROBES_A_SECOND, frame)]


def _p99(ordered: list[float]) -> float:
    return ordered[int(len(ordered) * 0.99)]
