"""The verdict can fail: a lost change, half a change, a broker with an old state, a false response."""

from __future__ import annotations

from signalbox.protocol.error_table import Error
from signalbox.testing.chaos.changes.model import NOT_THERE, Change, History, State
from signalbox.testing.chaos.changes.verdict import ChangeVerdict, States, judge_changes


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


def judged(past: History, stored: State, *described: State) -> ChangeVerdict:
    by_broker: dict[int, States] = {number: {"alice": each} for number, each in enumerate(described, 1)}
    return judge_changes("quota", [past], {"alice": stored}, by_broker)


def test_what_was_acknowledged_is_everywhere() -> None:
    now = state(one=2, two=2)
    verdict = judged(history(1, 2), now, now, now)
    assert verdict.holds
    assert verdict == ChangeVerdict("quota", 1, 2, 0, 0, 0, 0, 0, 0, ())


def test_a_lost_change_is_told_with_what_was_acknowledged_and_found() -> None:
    old = state(one=1, two=1)
    verdict = judged(history(1, 2), old, old, old)
    assert (verdict.holds, verdict.lost, verdict.unlike) == (False, 1, 0)
    assert verdict.examples == (
        "quota alice: the store has one=1 two=1, expected one=2 two=2; its last changes: set 1: NONE, set 2: NONE",
    )
    assert judge_changes("quota", [history(1)], {}, {}).lost == 1


def test_half_of_an_unanswered_change_is_as_bad() -> None:
    for whole in (state(one=1, two=1), state(one=2, two=2)):
        assert judged(history(1, lost=2), whole, whole).holds
    half = state(one=2, two=1)
    verdict = judged(history(1, lost=2), half, half)
    assert (verdict.lost, verdict.unanswered) == (1, 1)
    assert "expected one=1 two=1 or one=2 two=2" in verdict.examples[0]


def test_a_broker_that_lives_in_the_past_is_named() -> None:
    now, old = state(one=2, two=2), state(one=1, two=1)
    verdict = judged(history(1, 2), now, now, old, NOT_THERE)
    assert (verdict.lost, verdict.unlike) == (0, 2)
    assert "broker 2 says one=1 two=1, the store has one=2 two=2" in verdict.examples[0]
    assert "broker 3 says not there" in verdict.examples[1]


def test_a_false_answer_is_told() -> None:
    past = history(1)
    past.answer(setting(2), Error.RESOURCE_NOT_FOUND)
    verdict = judged(past, state(one=1, two=1))
    assert (verdict.holds, verdict.contradicted) == (False, 1)
    assert "set 2 was answered RESOURCE_NOT_FOUND" in verdict.examples[0]


def test_what_was_changed_before_the_store_went_back_is_counted_and_not_compared() -> None:
    now = state(one=3, two=3)
    verdict = judge_changes("quota", [history(3)], {"alice": now}, {1: {"alice": now}}, [history(1, 2), history(1)])
    assert verdict.holds
    assert (verdict.entities, verdict.set_back, verdict.acknowledged) == (1, 2, 4)
    false_answer = history(1)
    false_answer.answer(Change("never", None, lambda before: []), Error.NONE)
    assert judge_changes("quota", [], {}, {}, [false_answer]).contradicted == 1
