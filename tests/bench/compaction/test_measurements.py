"""The rows of `make bench-compaction`, and which of them have a bound."""

from __future__ import annotations

from bench.compaction.measurements import rows_of_cleaning, rows_of_produce
from bench.rounds import Rounds


def test_only_large_records_have_a_bound() -> None:
    found = {"clean": Rounds((8.0, 16.0), (5.0, 10.0))}
    [large], [small] = (
        list(rows_of_cleaning(found, size, bound)) for size, bound in (("1 KB", 1.5), ("100 bytes", None))
    )
    assert (large.ratio, large.holds) == (1.6, False)
    assert (small.ratio, small.holds) == (1.6, None)


def test_produce_is_compared_with_itself() -> None:
    found = {"alone": Rounds((2.0, 3.0)), "beside": Rounds((5.0, 4.0)), "beside / alone": Rounds((2.5, 1.3))}
    assert [(row.ours, row.holds) for row in rows_of_produce(found)] == [(2.5, None), (4.5, None), (1.9, True)]
