"""The rows of metadata and leadership beside load: bounds of our own figures, and shares of the reference."""

from __future__ import annotations

from bench.planes.beside_load import Measured, quantile, rows_beside_load


def measured(name: str, times: float) -> Measured:
    durations = [times * number for number in range(100)]
    return Measured(name, durations, durations, durations, durations, [None, None])


def test_each_figure_has_a_bound_and_a_share_of_the_reference() -> None:
    rows = list(rows_beside_load(measured("ours", 0.05), measured("Kafka", 1.0)))
    bounded = {row.metric: row for row in rows if row.bound is not None}
    assert len(bounded) == 8
    assert all(row.holds for row in bounded.values())
    assert {row.ratio for row in bounded.values()} == {None, 0.05}


def test_without_a_reference_its_rows_fail() -> None:
    rows = list(rows_beside_load(measured("ours", 0.05), None))
    assert [row.holds for row in rows if row.bound == 0.3] == [False] * 4


def test_a_quantile_of_sorted_figures() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.5, 0.99, 1.0)] == [3.0, 4.0, 4.0]
