"""The control plane under a saturated data plane: what a control request waits, and for how much work it may have to.

Wall-clock latency is taken by a client with real-time priority on the CONTROL listener, idle and loaded in turn; the
time between two polls comes from the broker itself (`data.plane.measure.polls`).
"""

from __future__ import annotations

import statistics
import time
import urllib.request
from collections.abc import Iterator

from bench import frames
from bench.c_programs import Load, probe
from bench.data_plane import ACKS_ALL, human
from bench.subject import PRODUCE_TOPIC, Subject
from bench.table import Row, absolute, at_most

_LOADS = ((16_384, 16), (1_048_576, 1_000))
_CONNECTIONS = 50
_RATE = 400
_LATENCY_BOUND, _GAP_BOUND_US = 3.0, 500.0
_SETTLE_S = 0.2
_METRIC = "kafka_network_socketserver_pollgapus"


def rows(subject: Subject, rounds: int, seconds: float) -> Iterator[Row]:
    """Latency ratio and gap for each size of batch."""
    for size, records in _LOADS:
        frame = frames.produce(PRODUCE_TOPIC, frames.batch_of(size, records), records, ACKS_ALL)
        load = Load(f"saturate-{size}", frame, _CONNECTIONS)
        load.run(subject.port, 0.3)
        idle, loaded, gaps = [], [], []
        for _ in range(rounds):
            idle.append(_p99(subject, seconds))
            process = load.start(subject.port, seconds + 3 * _SETTLE_S)
            time.sleep(2 * _SETTLE_S)
            before = _gaps(subject)  # every connection has had its first request: memory is touched
            loaded.append(_p99(subject, seconds))
            load.finish(process)
            gaps.append(_quantile(before, _gaps(subject), 0.99))
        name = f"{_CONNECTIONS} connections of {human(size)}"
        idle_us, loaded_us = statistics.median(idle), statistics.median(loaded)
        yield at_most(f"control request p99, {name} / idle, us", loaded_us, idle_us, _LATENCY_BOUND)
        yield absolute(f"between control polls p99, {name}, us", statistics.median(gaps), _GAP_BOUND_US)


def _p99(subject: Subject, seconds: float) -> float:
    latencies = probe(subject.control_port, seconds, _RATE, frames.api_versions())
    return latencies[int(len(latencies) * 0.99)]


def _gaps(subject: Subject) -> dict[float, float]:
    """Gaps so far of at most so many microseconds."""
    found = {}
    with urllib.request.urlopen(subject.metrics_url, timeout=10) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(_METRIC + "{"):
                bound, count = line.removeprefix(_METRIC + '{le="').split('"} ')
                found[float(bound)] = float(count)
    return found


def _quantile(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The upper bound below which `share` of the new gaps lie."""
    new = {bound: after[bound] - before[bound] for bound in sorted(after)}
    total = new[float("inf")]
    return next(bound for bound, count in new.items() if count >= share * total)
