"""`python -m bench.trace_leadership [--changes N]`: where the milliseconds of a change of leadership go beside load.

The changes and the load are those of `make bench-planes`. Each line is the mean over all changes, of the brokers'
own request metrics; the lines do not add up: brokers work at the same time, and a total contains the waiting.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bench import c_programs
from bench.kafka.sides import Ours
from bench.planes.beside_load import prepared, quantile, saturated
from bench.processes import work_folder

_SAMPLE = re.compile(r'(kafka_network_requestmetrics_\w+?)_(sum|count)\{request="(\w+)"\} (\S+)')
_QUEUE, _TOTAL = "kafka_network_requestmetrics_requestqueuetimems", "kafka_network_requestmetrics_totaltimems"
_REQUESTS = {
    "ElectLeaders": "the broker that the client asked, until its response",
    "Envelope": "the controller: ElectLeaders forwarded by that broker",
    "LeaderAndIsr": "each broker: the new leader, the followers",
    "UpdateMetadata": "each broker: its metadata image",
}


@dataclass(frozen=True)
class Stage:
    """One kind of request: how many there were for each change, and the means of their times in milliseconds."""

    request: str
    per_change: float
    queue_ms: float
    total_ms: float


def stages(before: str, after: str, changes: int) -> Iterator[Stage]:
    """From the metrics pages of all brokers, one text each, before and after `changes` changes."""
    earlier, later = _sums(before), _sums(after)

    def difference(metric: str, statistic: str, request: str) -> float:
        key = (metric, statistic, request)
        return later.get(key, 0.0) - earlier.get(key, 0.0)

    for request in _REQUESTS:
        count = difference(_TOTAL, "count", request)
        if count:
            queue_ms, total_ms = (difference(metric, "sum", request) / count for metric in (_QUEUE, _TOTAL))
            yield Stage(request, count / changes, queue_ms, total_ms)


def _sums(pages: str) -> dict[tuple[str, str, str], float]:
    """Over all brokers."""
    found: dict[tuple[str, str, str], float] = {}
    for metric, statistic, request, value in _SAMPLE.findall(pages):
        key = (metric, statistic, request)
        found[key] = found.get(key, 0.0) + float(value)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.trace_leadership")
    parser.add_argument("--changes", type=int, default=100)
    changes: int = parser.parse_args().changes
    c_programs.build()
    folder = work_folder()
    side = Ours(folder)
    try:
        moves = prepared(side)
        with saturated(side):
            moves.milliseconds(10)
            before = side.metrics_pages()
            taken = moves.milliseconds(changes)
            after = side.metrics_pages()
        applied = [side.until_applied_ms(share) for share in (0.5, 0.99)]
        moves.close()
    finally:
        side.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{changes} changes of leadership beside 24 connections with 1 MB in flight each")
    print(f"client: ElectLeaders sent to produce accepted, ms: mean {statistics.mean(taken):.1f}, "
          f"p50 {quantile(taken, 0.5):.1f}, p99 {quantile(taken, 0.99):.1f}, worst {taken[-1]:.1f}")  # fmt: skip
    print(f"{'request':<16}{'a change':>9}{'queue ms':>10}{'total ms':>10}  where")
    for stage in stages(before, after, changes):
        print(f"{stage.request:<16}{stage.per_change:>9.1f}{stage.queue_ms:>10.2f}{stage.total_ms:>10.2f}  "
              f"{_REQUESTS[stage.request]}")  # fmt: skip
    print("decision to LeaderAndIsr applied, ms: " + ", ".join(
        f"{label} {found:.1f}" for label, found in zip(("p50", "p99"), applied, strict=True) if found is not None
    ))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
