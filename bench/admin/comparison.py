"""The rows: which figures are compared, and the bound of each comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench.table import Row, absolute, at_most

Figures = Mapping[str, float]
CONTENDERS = (("4.4", "ours"), ("4.4 no linger", "ours"), ("3.9", "ours on ZooKeeper"))
"""Pairs: the reference, and the Signalbox setup that is compared with it."""

# metric, figure, and the bound of the ratio to the reference: to 4.4, to 4.4 without linger, to 3.9
_RATIOS: tuple[tuple[str, str, tuple[float | None, ...]], ...] = (
    ("IncrementalAlterConfigs, 1 client, p50, ms", "alter 1 p50", (0.2, 1.0, None)),
    ("IncrementalAlterConfigs, 1 client, p99, ms", "alter 1 p99", (0.5, None, None)),
    ("IncrementalAlterConfigs, 1 client, CPU ms a request", "alter 1 CPU", (None, None, None)),
    ("IncrementalAlterConfigs, 16 clients, p50, ms", "alter 16 p50", (0.2, 1.0, None)),
    ("IncrementalAlterConfigs, 16 clients, p99, ms", "alter 16 p99", (0.5, None, None)),
    ("IncrementalAlterConfigs, 16 clients, CPU ms a request", "alter 16 CPU", (None, None, None)),
    ("CreateTopics, 1 client, p50, ms", "create 1 p50", (0.2, 1.0, None)),
    ("CreateTopics, 1 client, p99, ms", "create 1 p99", (0.5, None, None)),
    ("CreateTopics, 1 client, CPU ms a request", "create 1 CPU", (None, None, None)),
    ("CreateTopics, 16 clients, p50, ms", "create 16 p50", (0.2, 1.0, None)),
    ("CreateTopics, 16 clients, p99, ms", "create 16 p99", (0.5, None, None)),
    ("CreateTopics, 16 clients, CPU ms a request", "create 16 CPU", (None, None, None)),
    ("1,000 topics of 3 partitions, answered, s", "topics answered", (None, None, None)),
    ("1,000 topics of 3 partitions, led everywhere, s", "topics led", (0.5, None, None)),
    ("1,000 topics deleted everywhere, s", "topics deleted", (None, None, None)),
    ("5,000 partitions answered, s", "partitions answered", (None, None, None)),
    ("5,000 partitions led everywhere, s", "partitions led", (0.5, None, None)),
    ("Metadata for 5,000 partitions, p50, ms", "metadata p50", (0.5, None, None)),
    ("Metadata for 5,000 partitions, p99, ms", "metadata p99", (None, None, None)),
    ("memory of a node with 5,000 partitions, MiB", "memory", (0.5, None, None)),
    ("noise: alter by 1 client, median of the worst round / of the best, times", "alter 1 spread", (None, None, None)),
    ("noise: others' processor time, % of a core", "others", (None, None, None)),
)
# metric, figure, and the bound of ours in seconds
_SECONDS: tuple[tuple[str, str, float | None], ...] = (
    ("SIGKILL of a leader to acks=all again, worst, s", "kill leader", 1.0),
    ("SIGKILL of a leader, median, s", "kill leader median", None),
    ("SIGKILL of a follower, longest stall of acks=all, worst, s", "kill follower", 1.0),
    ("SIGKILL of a follower, median, s", "kill follower median", None),
    ("SIGKILL of the controller, longest stall of acks=all, worst, s", "kill controller produce", 3.0),
    ("SIGKILL of the controller, median, s", "kill controller produce median", None),
    ("SIGKILL of the controller to CreateTopics again, worst, s", "kill controller create", 3.0),
    ("SIGKILL of the controller to CreateTopics, median, s", "kill controller create median", None),
)


def compare(found: Mapping[str, Figures]) -> Iterator[Row]:
    """Rows of every pair whose two sides were measured."""
    for at, (reference, ours) in enumerate(CONTENDERS):
        if reference in found and ours in found:
            yield from _pair(f"{ours} / {reference}: ", found[ours], found[reference], at)
    for ours in ("ours", "ours on ZooKeeper"):
        if ours in found:
            yield from _seconds(f"{ours}: ", found[ours], found.get("4.4" if ours == "ours" else "3.9", {}))


def _pair(prefix: str, ours: Figures, reference: Figures, at: int) -> Iterator[Row]:
    for metric, figure, bounds in _RATIOS:
        if figure in ours and figure in reference:
            yield at_most(prefix + metric, ours[figure], max(reference[figure], 1e-9), bounds[at])


def _seconds(prefix: str, ours: Figures, reference: Figures) -> Iterator[Row]:
    """The bound is on ours; the reference is printed beside it."""
    for metric, figure, bound in _SECONDS:
        if figure in ours:
            row = absolute(prefix + metric, ours[figure], bound)
            yield Row(row.metric, row.ours, reference.get(figure), None, row.bound, row.holds)
