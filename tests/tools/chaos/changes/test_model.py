"""The possible states of an entity after its history: acknowledged changes are applied, those without a response may be
applied, now or later."""

from __future__ import annotations

from collections.abc import Iterable

from tools.chaos.changes.model import (
    GONE,
    MOST_UNANSWERED,
    NOT_THERE,
    Change,
    History,
    State,
    described,
    fact,
    with_facts,
)

from signalbox.protocol.error_table import Error


def value(number: int) -> State:
    return frozenset({("value", str(number))})


def write(number: int) -> Change:
    return Change(f"write {number}", None, lambda state: [(value(number), Error.NONE)])


def remove() -> Change:
    def transitions(state: State) -> Iterable[tuple[State, Error]]:
        yield (GONE, Error.NONE) if fact(state, "value") else (state, Error.RESOURCE_NOT_FOUND)

    return Change("remove", None, transitions)


def test_what_was_acknowledged_is_the_only_state() -> None:
    history = History("x")
    assert history.possible() == {NOT_THERE}
    history.answer(write(1), Error.NONE)
    history.answer(write(2), Error.NONE)
    assert history.possible() == {value(2)}
    history.answer(remove(), Error.NONE)
    assert history.possible() == {NOT_THERE}
    assert (history.acknowledged, history.rejected, history.unanswered, history.contradictions) == (3, 0, 0, [])


def test_a_lost_answer_leaves_both_possible_until_another_tells() -> None:
    history = History("x")
    history.lose(write(1), "no answer")
    assert history.possible() == {NOT_THERE, value(1)}
    history.answer(remove(), Error.NONE)
    assert history.possible() == {NOT_THERE}


def test_a_change_without_an_answer_may_come_late_but_only_once() -> None:
    history = History("x")
    history.lose(write(1), "timed out")
    history.answer(write(2), Error.NONE)
    assert history.possible() == {value(1), value(2)}
    history.answer(write(3), Error.NONE)
    assert history.possible() == {value(1), value(3)}
    assert history.possible() != {value(2), value(3)}


def test_a_rejection_tells_what_was_so() -> None:
    history = History("x")
    history.lose(write(1), "timed out")
    history.answer(remove(), Error.RESOURCE_NOT_FOUND)
    assert history.possible() == {NOT_THERE, value(1)}, "it may have come after the rejection"
    history.answer(write(2), Error.INVALID_REPLICATION_FACTOR)
    assert (history.rejected, history.possible()) == (2, {NOT_THERE, value(1)})


def test_an_answer_that_no_history_allows_is_a_contradiction() -> None:
    history = History("x")
    history.answer(write(1), Error.NONE)
    history.answer(remove(), Error.RESOURCE_NOT_FOUND)
    assert history.contradictions == ["x: remove was answered RESOURCE_NOT_FOUND, but it was value=1"]
    assert history.is_closed


def test_uncertain_answers_are_none() -> None:
    history = History("x")
    for number in range(MOST_UNANSWERED):
        assert not history.is_closed
        history.answer(write(number), Error.NOT_CONTROLLER)
    assert (history.unanswered, history.acknowledged, history.is_closed) == (MOST_UNANSWERED, 0, True)
    assert history.possible() == {NOT_THERE, value(0), value(1), value(2)}


def test_an_entity_whose_name_was_in_a_lost_response_is_not_changed_again() -> None:
    history = History("x")
    history.lose(Change("make", None, lambda state: [(value(1), Error.NONE)], names_entity=True), "no answer")
    assert history.is_closed
    assert history.possible() == {NOT_THERE, value(1)}


def test_facts() -> None:
    state = with_facts(value(1), {"name": "a", "value": None})
    assert state == {("name", "a")}
    assert (described(state), described(NOT_THERE), fact(state, "value")) == ("name=a", "not there", None)
