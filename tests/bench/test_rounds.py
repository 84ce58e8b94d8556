"""Rounds of ours and a reference in turn: the order, the medians, the spread, and a reference that is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from bench.rounds import Interleaved, Rounds
from bench.table import Spread

A_SLOW_ROUND = Rounds((10.0, 30.0, 11.0), (20.0, 60.0, 21.0))


def test_a_slow_round_changes_neither_the_medians_nor_the_ratio() -> None:
    row = A_SLOW_ROUND.row("cost, us", 0.51)
    assert (row.ours, row.reference, row.ratio, row.holds) == (11.0, 21.0, 0.5, True)
    assert row.spread == Spread((10.0, 30.0), (20.0, 60.0), (0.5, 11 / 21))


def test_the_ratio_is_the_median_of_the_rounds_ratios() -> None:
    row = Rounds((1.0, 2.0, 3.0), (1.0, 1.0, 6.0)).row("cost, us", 0.9)
    assert (row.ratio, row.holds) == (1.0, False)


def test_the_ratio_of_a_rate_is_the_reference_to_ours() -> None:
    row = Rounds((200.0,), (100.0,)).row("rate, MB/s", 1.0, higher_is_better=True)
    assert (row.ratio, row.holds) == (0.5, True)


@pytest.mark.parametrize(("bound", "holds"), [(0.5, False), (None, None)])
def test_a_row_with_a_bound_fails_without_a_reference(bound: float | None, holds: bool | None) -> None:
    row = Rounds((1.0, 2.0, 4.0)).row("cost, us", bound)
    assert (row.ours, row.reference, row.ratio, row.holds) == (2.0, None, None, holds)


@pytest.mark.parametrize(("bound", "holds"), [(2.0, True), (1.9, False), (None, None)])
def test_a_row_of_ours_alone_compares_the_median_with_the_bound(bound: float | None, holds: bool | None) -> None:
    assert Rounds((1.0, 2.0, 4.0), (1.0, 1.0, 1.0)).own_row("gap, us", bound).holds is holds


def test_rounds_are_added_one_after_the_other() -> None:
    assert Rounds((1.0,), (2.0,)) + Rounds((3.0,), (4.0,)) == Rounds((1.0, 3.0), (2.0, 4.0))
    assert Rounds((1.0,), (2.0,)) + Rounds((3.0,)) == Rounds((1.0, 3.0))


def recording(calls: list[str], failing_at: int = 99) -> Callable[[str], Mapping[str, float]]:
    def measure(side: str) -> Mapping[str, float]:
        calls.append(side)
        if side == "reference" and len(calls) > failing_at:
            raise RuntimeError("java is missing")
        return {"cost": float(len(calls)), "ours only": 1.0} if side == "ours" else {"cost": float(len(calls))}

    return measure


def test_the_sides_alternate_and_warm_rounds_do_not_count() -> None:
    calls: list[str] = []
    found = Interleaved("ours", "reference").measure(recording(calls), 2, warm=1)
    assert calls == ["ours", "reference"] * 3
    assert found == {"cost": Rounds((3.0, 5.0), (4.0, 6.0)), "ours only": Rounds((1.0, 1.0))}


def test_without_a_reference_only_ours_is_measured() -> None:
    assert Interleaved("ours", None).measure(recording([]), 2)["cost"] == Rounds((1.0, 2.0))


def test_a_reference_that_fails_is_reported_and_not_measured_again(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[str] = []
    sides = Interleaved("ours", "reference")
    found = sides.measure(recording(calls, failing_at=2), 3)
    assert calls == ["ours", "reference", "ours", "reference", "ours"]
    assert found["cost"] == Rounds((1.0, 3.0, 5.0))
    assert sides.reference is None
    assert capsys.readouterr().out == "the reference was not measured: java is missing\n"


def test_ours_that_fails_ends_the_bench() -> None:
    def measure(side: str) -> Mapping[str, float]:
        raise RuntimeError(side)

    with pytest.raises(RuntimeError, match="ours"):
        Interleaved("ours", "reference").measure(measure, 1)
