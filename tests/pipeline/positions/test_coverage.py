"""A backfill reads what the table lacks, and nothing twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.pipeline.positions.coverage import Span, missing_spans

P0, P1 = "t:0", "t:1"


@pytest.mark.spec("P7")
def test_nothing_behind_the_beginning_of_the_table_is_read() -> None:
    assert missing_spans(Span({P0: 0}, {P0: 20}), {P0: 10}, []) == [Span({P0: 0}, {P0: 10})]
    assert missing_spans(Span({P0: 10}, {P0: 20}), {P0: 10}, []) == []


def test_a_partition_that_was_added_later_is_complete() -> None:
    assert missing_spans(Span({P0: 0, P1: 0}, {P0: 5, P1: 5}), {P0: 5}, []) == [Span({P0: 0}, {P0: 5})]


@pytest.mark.spec("P7")
def test_holes_between_earlier_backfills_are_parts_of_their_own() -> None:
    added = [Span({P0: 2}, {P0: 4}), Span({P0: 6, P1: 0}, {P0: 7, P1: 9})]
    spans = missing_spans(Span({P0: 0, P1: 0}, {P0: 10, P1: 10}), {P0: 10, P1: 10}, added)
    assert spans == [
        Span({P0: 0, P1: 9}, {P0: 2, P1: 10}),
        Span({P0: 4}, {P0: 6}),
        Span({P0: 7}, {P0: 10}),
    ]
    assert [span.count for span in spans] == [3, 2, 3]


_RANGES = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted)


@pytest.mark.spec("P7")
@given(st.lists(_RANGES, max_size=8), st.integers(0, 30))
def test_any_backfills_together_read_each_record_once(asked: list[list[int]], begin: int) -> None:
    added: list[Span] = []
    for first, last in asked:
        added += missing_spans(Span({P0: first}, {P0: last}), {P0: begin}, added)
    read = [offset for span in added for offset in range(span.start[P0], span.end[P0])]
    wanted = {offset for first, last in asked for offset in range(first, min(last, begin))}
    assert sorted(read) == sorted(wanted)
