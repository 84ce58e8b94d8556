"""The check can fail: a lost change, half a change, a broker with an old state, a false response."""

from __future__ import annotations

from tools.chaos.changes.change_check import ChangeCheck, States, check_changes
from tools.chaos.changes.model import NOT_THERE, Change, History, State

from signalbox.protocol.error_table import Error


def state(**facts: int) -> State:
    return frozenset((name, str(value)) for name, value in facts.items())


def setting(number: int) -> Change:
    return Change(f"set {number}", None, lambda before: [(state(one=number, two=number), Error.NONE)])


def history(*numbers: int, lost: int | None = None) -> History:
    made = History("alice")
    for number in numbers:
        made.answer(setting(number), Error.NONE)
    if lost is not None:
        made.lose(setting(lost), "no answer")
    return made


def checked(past: History, stored: State, *described: State) -> ChangeCheck:
    by_broker: dict[int, States] = {number: {"alice": each} for number, each in enumerate(described, 1)}
    return check_changes("quota", [past], {"alice": stored}, by_broker)


def test_what_was_acknowledged_is_everywhere() -> None:
    now = state(one=2, two=2)
    check = checked(history(1, 2), now, now, now)
    assert check.holds
    assert check == ChangeCheck("quota", 1, 2, 0, 0, 0, 0, 0, 0, ())


def test_a_lost_change_is_reported_with_the_acknowledged_and_the_stored_state() -> None:
    old = state(one=1, two=1)
    check = checked(history(1, 2), old, old, old)
    assert (check.holds, check.lost, check.unlike) == (False, 1, 0)
    assert check.examples == (
        "quota alice: the store has one=1 two=1, expected one=2 two=2; its last changes: set 1: NONE, set 2: NONE",
    )
    assert check_changes("quota", [history(1)], {}, {}).lost == 1


def test_half_of_an_unanswered_change_is_as_bad() -> None:
    for complete in (state(one=1, two=1), state(one=2, two=2)):
        assert checked(history(1, lost=2), complete, complete).holds
    half = state(one=2, two=1)
    check = checked(history(1, lost=2), half, half)
    assert (check.lost, check.unanswered) == (1, 1)
    assert "expected one=1 two=1 or one=2 two=2" in check.examples[0]


def test_a_broker_with_an_old_state_is_named() -> None:
    now, old = state(one=2, two=2), state(one=1, two=1)
    check = checked(history(1, 2), now, now, old, NOT_THERE)
    assert (check.lost, check.unlike) == (0, 2)
    assert "broker 2 says one=1 two=1, the store has one=2 two=2" in check.examples[0]
    assert "broker 3 says not there" in check.examples[1]


def test_a_false_response_is_reported() -> None:
    past = history(1)
    past.answer(setting(2), Error.RESOURCE_NOT_FOUND)
    check = checked(past, state(one=1, two=1))
    assert (check.holds, check.contradicted) == (False, 1)
    assert "set 2 was answered RESOURCE_NOT_FOUND" in check.examples[0]


def test_what_was_changed_before_the_store_went_back_is_counted_and_not_compared() -> None:
    now = state(one=3, two=3)
    check = check_changes("quota", [history(3)], {"alice": now}, {1: {"alice": now}}, [history(1, 2), history(1)])
    assert check.holds
    assert (check.entities, check.set_back, check.acknowledged) == (1, 2, 4)
    false_response = history(1)
    false_response.answer(Change("never", None, lambda before: []), Error.NONE)
    assert check_changes("quota", [], {}, {}, [false_response]).contradicted == 1
