from __future__ import annotations

import pytest

from signalbox.coordinator.answer import Answer, gather
from signalbox.protocol.error_table import Error, KafkaError

REJECTED = KafkaError(Error.NOT_COORDINATOR)


def test_whoever_waits_is_called_in_order_and_late_comers_at_once() -> None:
    heard: list[int] = []
    answer: Answer[str] = Answer()
    answer.when_done(lambda: heard.append(1))
    answer.when_done(lambda: heard.append(2))
    assert not answer.done
    answer.complete("x")
    answer.when_done(lambda: heard.append(3))
    assert (heard, answer.value()) == ([1, 2, 3], "x")


def test_an_answer_is_given_once() -> None:
    answer = Answer.of(1)
    with pytest.raises(RuntimeError, match="twice"):
        answer.complete(2)
    with pytest.raises(RuntimeError, match="pending"):
        Answer().value()


def test_none_is_a_value() -> None:
    answer: Answer[None] = Answer()
    answer.complete(None)
    assert answer.done
    assert answer.value() is None


def test_map_changes_values_and_passes_errors_on() -> None:
    source: Answer[int] = Answer()
    doubled = source.map(lambda value: value * 2)
    source.complete(4)
    assert doubled.value() == 8
    with pytest.raises(KafkaError):
        Answer[int].failed(REJECTED).map(lambda value: value * 2).value()


def test_recover_makes_a_value_of_an_error() -> None:
    assert Answer[str].failed(REJECTED).recover(lambda rejection: rejection.error.name).value() == "NOT_COORDINATOR"
    assert Answer.of("x").recover(lambda rejection: "never").value() == "x"


def test_gather_keeps_the_order_and_waits_for_all() -> None:
    first: Answer[int] = Answer()
    second: Answer[int] = Answer()
    both = gather([first, second])
    second.complete(2)
    assert not both.done
    first.complete(1)
    assert both.value() == [1, 2]
    assert gather([]).value() == []


def test_gather_fails_with_the_first_error() -> None:
    both = gather([Answer.of(1), Answer[int].failed(REJECTED)])
    assert both.error is REJECTED
