from __future__ import annotations

import pytest

from signalbox.coordinator.promise import Promise, gather
from signalbox.protocol.error_table import Error, KafkaError

REJECTED = KafkaError(Error.NOT_COORDINATOR)


def test_callbacks_run_in_order_and_at_once_if_the_promise_is_done() -> None:
    called: list[int] = []
    promise: Promise[str] = Promise()
    promise.when_done(lambda: called.append(1))
    promise.when_done(lambda: called.append(2))
    assert not promise.done
    promise.complete("x")
    promise.when_done(lambda: called.append(3))
    assert (called, promise.value()) == ([1, 2, 3], "x")


def test_a_promise_is_completed_once() -> None:
    promise = Promise.of(1)
    with pytest.raises(RuntimeError, match="twice"):
        promise.complete(2)
    with pytest.raises(RuntimeError, match="pending"):
        Promise().value()


def test_none_is_a_value() -> None:
    promise: Promise[None] = Promise()
    promise.complete(None)
    assert promise.done
    assert promise.value() is None


def test_map_changes_values_and_passes_errors_on() -> None:
    source: Promise[int] = Promise()
    doubled = source.map(lambda value: value * 2)
    source.complete(4)
    assert doubled.value() == 8
    with pytest.raises(KafkaError):
        Promise[int].failed(REJECTED).map(lambda value: value * 2).value()


def test_recover_makes_a_value_of_an_error() -> None:
    assert Promise[str].failed(REJECTED).recover(lambda rejection: rejection.error.name).value() == "NOT_COORDINATOR"
    assert Promise.of("x").recover(lambda rejection: "never").value() == "x"


def test_gather_keeps_the_order_and_waits_for_all() -> None:
    first: Promise[int] = Promise()
    second: Promise[int] = Promise()
    both = gather([first, second])
    second.complete(2)
    assert not both.done
    first.complete(1)
    assert both.value() == [1, 2]
    assert gather([]).value() == []


def test_gather_fails_with_the_first_error() -> None:
    both = gather([Promise.of(1), Promise[int].failed(REJECTED)])
    assert both.error is REJECTED
