"""The control plane under a saturated data plane: the latency of a control request, and the gap between two polls.

Wall-clock latency is measured by a client with real-time priority on the CONTROL listener, idle and loaded in turn; the
time between two polls comes from the broker itself (`signalbox.data.plane.measure.polls`).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench import frames
from bench.c_programs import Load, probe
from bench.data_plane import ACKS_ALL, human
from bench.poll_gaps import quantile, read_gaps
from bench.subject import PRODUCE_TOPIC, Subject
from bench.table import Row, absolute, at_most

_LOADS = ((16_384, 16, 500.0), (1_048_576, 1_000, 1_000.0))  # bytes, records, bound of the gap in us (decision 0042)
_CONNECTIONS = 50
_RATE = 400
_LATENCY_BOUND = 3.0
_SETTLE_S = 0.2


def rows(subject: Subject, rounds: int, seconds: float) -> Iterator[Row]:
    """Latency ratio and gap for each batch size."""
    for size, records, gap_bound_us in _LOADS:
        frame = frames.produce(PRODUCE_TOPIC, frames.batch_of(size, records), records, ACKS_ALL)
        load = Load(f"saturate-{size}", frame, _CONNECTIONS)
        load.run(subject.port, 0.3)
        idle, loaded, gaps = [], [], []
        for _ in range(rounds):
            idle.append(_p99(subject, seconds))
            process = load.start(subject.port, seconds + 3 * _SETTLE_S)
            time.sleep(2 * _SETTLE_S)
            before = read_gaps(subject.metrics_url)  # all connections had a first request: memory is touched
            loaded.append(_p99(subject, seconds))
            load.finish(process)
            gaps.append(quantile(before, read_gaps(subject.metrics_url), 0.99))
        name = f"{_CONNECTIONS} connections of {human(size)}"
        idle_us, loaded_us = statistics.median(idle), statistics.median(loaded)
        yield at_most(f"control request p99, {name} / idle, us", loaded_us, idle_us, _LATENCY_BOUND)
        yield absolute(f"between control polls p99, {name}, us", statistics.median(gaps), gap_bound_us)


def _p99(subject: Subject, seconds: float) -> float:
    latencies = probe(subject.control_port, seconds, _RATE, frames.api_versions())
    return latencies[int(len(latencies) * 0.99)]
