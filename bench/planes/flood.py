"""Unauthenticated clients send data requests to a forced control plane: C opens connections from 16 addresses.

The established peer is a client that sends stale LeaderAndIsr requests, which change nothing; its latency during the
flood is compared with its latency without.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import frames
from bench.c_programs import NewConnections, probe
from bench.planes.loads import WIDE
from bench.planes.stage import Stage
from bench.poll_gaps import quantile, read_gaps
from bench.table import Row, absolute, absolute_at_least, at_most

_WORKERS, _RATE = 64, 400
_ACCEPTED_BOUND, _LATENCY_BOUND = 3_000.0, 3.0


def flood_rows(stage: Stage, seconds: float) -> Iterator[Row]:
    """Accepted connections per second, the latency of LeaderAndIsr, and the gaps."""
    frame = frames.stale_leader_and_isr()
    idle = _p99(probe(stage.control_port, seconds, _RATE, frame))
    before = read_gaps(stage.metrics_url)
    flood = NewConnections("unauthenticated", frames.everything(), _WORKERS)
    process = flood.start(stage.control_port, seconds + 0.5)
    loaded = _p99(probe(stage.control_port, seconds, _RATE, frame))
    found = flood.finish(process)
    after = read_gaps(stage.metrics_url)
    if found.answers:
        raise RuntimeError(f"{found.answers} unauthenticated connections got a response")
    yield absolute_at_least(
        "unauthenticated connections on the forced control plane, a second",
        found.closed / found.seconds,
        _ACCEPTED_BOUND,
    )
    yield at_most("LeaderAndIsr p99 beside unauthenticated connections / idle, us", loaded, idle, _LATENCY_BOUND)
    yield absolute("gap, unauthenticated connections, p99, us", quantile(before, after, 0.99), WIDE.p99)
    yield absolute("gap, unauthenticated connections, worst, us", quantile(before, after, 1), WIDE.worst)


def _p99(latencies: list[float]) -> float:
    return latencies[int(len(latencies) * 0.99)]
