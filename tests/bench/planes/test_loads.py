"""The kinds of load have the bounds of decision 0042."""

from __future__ import annotations

from bench.planes.loads import NARROW, WIDE, GapBounds, kinds


def test_the_bounds_are_those_of_the_decision() -> None:
    assert GapBounds(500.0, 5_000.0) == NARROW
    assert GapBounds(1_000.0, 10_000.0) == WIDE


def test_loads_with_calls_that_cannot_be_cut_have_the_wide_bounds() -> None:
    assert {kind.name for kind in kinds() if kind.bounds == WIDE} == {
        "produce of 1 MB batches",
        "fetches of 1 MB that are not in the page cache",
        "TLS handshakes",
        "topics of 100 partitions created and deleted",
        "the log cleaner",
    }
    assert all(kind.bounds == NARROW for kind in kinds() if kind.bounds != WIDE)
