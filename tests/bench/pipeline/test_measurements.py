"""The rows of `make bench-pipeline`, and which of them have a bound."""

from __future__ import annotations

from bench.pipeline.measurements import row_of_costs, row_of_rates, rows_of_sources
from bench.rounds import Rounds


def test_only_the_rate_is_bounded_beside_kafka() -> None:
    found = {"rate": Rounds((20.0,), (25.0,)), "cpu": Rounds((50.0,), (40.0,)), "nodes": Rounds((4.0,), (2.0,))}
    rows = list(rows_of_sources(found, "jars"))
    assert [(row.ratio, row.holds) for row in rows] == [(1.25, False), (1.25, None), (2.0, None)]


def test_rates_have_a_lower_bound_and_costs_an_upper_one() -> None:
    fast, slow = Rounds((30.0, 20.0, 26.0)), Rounds((20.0, 20.0, 20.0))
    rate = row_of_rates("records/s, two cores / one, ratio", fast, slow, 1.25)
    assert (rate.ours, rate.holds, rate.lower_bound) == (1.3, True, True)
    assert row_of_rates("records/s, two cores / one, ratio", slow, fast, 0.9).holds is False
    cost = row_of_costs("CPU s, two executors / one core, ratio", fast, slow, 1.2)
    assert (cost.ours, cost.holds, cost.lower_bound) == (1.3, False, False)
