"""Why round trips are slower under load, with recorded figures of ours and of Apache Kafka beside each other.

The figures are those of the newest complete run of `make bench-planes` in `bench/history`, also in docs/measured.md:
both clusters were measured in turn on one machine. A test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signalbox.cli.demo.charts import MOST_DOTS, quantile
from signalbox.cli.demo.stage import counted


@dataclass(frozen=True, slots=True)
class Recorded:
    """From a leadership change that was asked for to the first record that the new leader accepts, 99th percentile."""

    cluster: str
    run: str
    idle_ms: float
    loaded_ms: float


_RUN = "2026-11-27-bench-planes-6ff0137cac"
RECORDED = (
    Recorded("Apache Kafka 4.4.0", _RUN, 46.5, 179.0),
    Recorded("Signalbox", _RUN, 6.7, 39.6),
)


def recorded_rows() -> list[dict[str, Any]]:
    """The recorded figures as rows of a table."""
    return [
        {
            "cluster": row.cluster,
            "date": row.run[:10],
            "idle, p99 ms": f"{row.idle_ms:,.1f}",
            "saturated, p99 ms": f"{row.loaded_ms:,.1f}",
            "times slower": f"{row.loaded_ms / row.idle_ms:.1f}",
        }
        for row in RECORDED
    ]


def latency_caption(latency: Mapping[str, Sequence[float]]) -> str:
    """What the dots are, and what makes those under load slower."""
    drawn = "; ".join(f"{name}: {counted(len(values), 'round trip')}" for name, values in latency.items())
    tails = [quantile(values, 0.99) for values in latency.values()]
    growth = f" Here p99 is {tails[-1] / tails[0]:.1f} times that of the idle cluster." if _grew(tails) else ""
    return (
        f"Logarithmic; {drawn}. At most {MOST_DOTS} evenly chosen dots a line; median and 99th percentile are of all."
        f"{growth} The clients that ask, the one that produces and the brokers share this machine's processors, the"
        " first two one Python interpreter as well: most of a slow round trip is the wait for a processor, in the"
        " client too."
    )


def recorded_caption() -> str:
    """What the recorded table compares."""
    return (
        "Beside Apache Kafka, in recorded runs on two cores (bench/history): the time of a change of leadership, up to"
        " the first record that the new leader accepts. Load slows both clusters, since both wait for processors; the"
        " factor alone says little, as it grows when the idle cluster becomes faster."
    )


def _grew(tails: Sequence[float]) -> bool:
    return len(tails) > 1 and 0 < tails[0] < tails[-1]
