"""The rows of metadata and leadership beside load: bounds of our own figures, and shares of the reference."""

from __future__ import annotations

from bench.planes.beside_load import QUANTILES, figure, loaded_and_idle, quantile, rows_beside_load, rows_of_one_side
from bench.rounds import Rounds

NAMES = [
    figure(what, label, idle=idle)
    for what in ("metadata", "leadership")
    for label in QUANTILES
    for idle in (False, True)
]


def found(ours_ms: float, *reference_ms: float) -> dict[str, Rounds]:
    """Idle figures are half as long."""
    figures = {}
    for name in NAMES:
        factor = 0.5 if name.startswith("idle") else 1.0
        reference = tuple(factor * value for value in reference_ms for _ in range(3))
        figures[name] = Rounds((factor * ours_ms,) * 3, reference)
    return figures


def test_each_figure_has_a_bound_and_a_share_of_the_reference() -> None:
    rows = list(rows_beside_load(found(2.0, 40.0)))
    assert [row.bound for row in rows] == [4.0, 0.3, 20.0, 0.3, 45.0, 0.3, 120.0, 0.3]
    assert all(row.holds for row in rows)
    assert {row.ratio for row in rows} == {None, 0.05}


def test_without_a_reference_its_rows_fail() -> None:
    rows = list(rows_beside_load(found(2.0)))
    assert [row.holds for row in rows if row.bound == 0.3] == [False] * 4
    assert [row.holds for row in rows if row.bound != 0.3] == [True] * 4


def test_the_loaded_figures_of_each_side_stand_beside_its_idle_ones() -> None:
    both = found(2.0, 40.0)
    for reference, loaded_ms in ((False, 2.0), (True, 40.0)):
        rows = list(rows_of_one_side("side", loaded_and_idle(both, reference=reference), {}))
        assert [(row.ours, row.reference, row.ratio, row.bound) for row in rows] == [
            (loaded_ms, loaded_ms / 2, 2.0, None)
        ] * 4


def test_only_known_times_to_leader_and_isr_applied_have_rows() -> None:
    rows = list(rows_of_one_side("side", loaded_and_idle(found(2.0)), {"p50": 7.0}))
    assert [(row.metric, row.ours) for row in rows[4:]] == [("side: decision to LeaderAndIsr applied, p50, ms", 7.0)]


def test_a_quantile_of_sorted_figures() -> None:
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.5, 0.99, 1.0)] == [3.0, 4.0, 4.0]
