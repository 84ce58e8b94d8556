"""The rows of `make bench-transactions`, and which of them have a bound."""

from __future__ import annotations

from bench.rounds import Rounds
from bench.transactions.measurements import rows_of_fetch, rows_of_one, rows_of_several


def test_rows_of_one_producer() -> None:
    found = {"p50": Rounds((6.0,), (10.0,)), "p99": Rounds((7.0,), (10.0,)), "cpu of one": Rounds((9.0,), (10.0,))}
    assert [(row.bound, row.holds) for row in rows_of_one(found)] == [(0.6, True), (0.6, False), (1.0, True)]


def test_rows_of_several_producers() -> None:
    found = {"commits": Rounds((50.0,), (40.0,)), "cpu of several": Rounds((11.0,), (10.0,))}
    assert [(row.ratio, row.holds) for row in rows_of_several(found)] == [(0.8, None), (1.1, False)]


def test_our_fetches_are_compared_with_each_other() -> None:
    found = {
        "read_committed": Rounds((0.22,), (0.4,)),
        "committed / uncommitted": Rounds((1.2,), (1.4,)),
    }
    assert [(row.ours, row.holds) for row in rows_of_fetch(found)] == [(0.22, None), (1.2, False), (1.4, None)]
    found["committed / uncommitted"] = Rounds((1.05,))
    assert [(row.ours, row.holds) for row in rows_of_fetch(found)][1:] == [(1.05, True)]
