"""Lost, duplicated, out of order, in another place, not seen by the group, not real: each is detected, and nothing else
is."""

from __future__ import annotations

from tools.chaos.ledger import RecordId
from tools.chaos.record_check import RecordCheck, check_records

A, B, C = RecordId(0, 0), RecordId(0, 1), RecordId(1, 0)


def checked(rows: list[RecordId], acknowledged: dict[RecordId, tuple[int, int]] | None = None) -> RecordCheck:
    """The result for `rows` in partition 5 from offset 0 on; the group has read all of them."""
    found = {5: list(enumerate(rows))}
    seen = {(5, offset): record for offset, record in enumerate(rows)}
    return check_records(dict.fromkeys(rows, (5, -1)) if acknowledged is None else acknowledged, found, seen)


def test_nothing_is_wrong() -> None:
    right = checked([A, C, B], {A: (5, 0), B: (5, 2), C: (5, 1)})
    assert right.holds
    assert right.examples == ()


def test_a_record_that_was_never_acknowledged_may_be_there_or_not() -> None:
    assert checked([A, B], {A: (5, 0)}).holds


def test_lost() -> None:
    wrong = checked([A], {A: (5, 0), B: (5, 1)})
    assert (wrong.lost, wrong.holds) == (1, False)
    assert wrong.examples == ("lost: RecordId(producer=0, number=1) acknowledged at (5, 1)",)


def test_duplicated() -> None:
    wrong = checked([A, A, B])
    assert (wrong.duplicated, wrong.reordered, wrong.lost) == (1, 0, 0)


def test_reordered_within_one_producer_only() -> None:
    assert checked([B, C, A]).reordered == 1
    assert checked([C, A, B]).reordered == 0


def test_acknowledged_at_another_place() -> None:
    assert checked([A, B], {A: (5, 1)}).misplaced == 1


def test_the_group_missed_one_and_saw_what_is_not_there() -> None:
    wrong = check_records({A: (5, 0)}, {5: [(0, A), (1, B)]}, {(5, 0): A, (5, 2): C})
    assert (wrong.unseen, wrong.phantoms) == (1, 1)
