"""A result now or later: callbacks, errors, chains."""

from __future__ import annotations

import pytest

from signalbox.common.waiting.promise import Promise, gather

REJECTED = ValueError("rejected")


def test_callbacks_run_in_order_and_at_once_if_the_promise_is_done() -> None:
    called: list[object] = []
    promise: Promise[str] = Promise()
    promise.when_done(lambda: called.append(1))
    promise.then(called.append)
    assert (promise.is_done, called) == (False, [])
    promise.complete("x")
    promise.when_done(lambda: called.append(3))
    promise.then(called.append)
    assert (called, promise.result()) == ([1, "x", 3, "x"], "x")


def test_after_an_error_only_when_done_is_called() -> None:
    called: list[object] = []
    promise: Promise[str] = Promise()
    promise.then(called.append)
    promise.when_done(lambda: called.append(promise.error))
    promise.fail(REJECTED)
    promise.then(called.append)
    assert (called, promise.is_done) == ([REJECTED], True)
    with pytest.raises(ValueError, match="rejected"):
        promise.result()


def test_a_promise_is_completed_once() -> None:
    promise = Promise.of(1)
    with pytest.raises(RuntimeError, match="twice"):
        promise.complete(2)
    with pytest.raises(RuntimeError, match="twice"):
        Promise[int].failed(REJECTED).fail(REJECTED)
    with pytest.raises(RuntimeError, match="pending"):
        Promise().result()


def test_none_is_a_value() -> None:
    promise: Promise[None] = Promise()
    promise.complete(None)
    assert promise.is_done
    promise.result()


def test_map_changes_values_and_passes_errors_on() -> None:
    source: Promise[int] = Promise()
    doubled, divided = source.map(lambda value: value * 2), source.map(lambda value: value // 0)
    source.complete(4)
    assert doubled.result() == 8
    assert isinstance(divided.error, ZeroDivisionError)
    assert Promise[int].failed(REJECTED).map(lambda value: value * 2).error is REJECTED


def test_recover_makes_a_value_of_an_error_of_its_kind() -> None:
    failed = Promise[str].failed(REJECTED)
    assert failed.recover(ValueError, str).result() == "rejected"
    assert failed.recover(KeyError, str).error is REJECTED
    assert Promise.of("x").recover(ValueError, lambda error: "never").result() == "x"


def test_gather_keeps_the_order_and_waits_for_all() -> None:
    first: Promise[int] = Promise()
    second: Promise[int] = Promise()
    both = gather([first, second])
    second.complete(2)
    assert not both.is_done
    first.complete(1)
    assert both.result() == [1, 2]
    assert gather([]).result() == []


def test_gather_fails_with_the_first_error() -> None:
    both = gather([Promise.of(1), Promise[int].failed(REJECTED)])
    assert both.error is REJECTED


def test_another_promise_gets_the_value_or_the_error() -> None:
    first, second, third = Promise[int](), Promise[int](), Promise[int]()
    first.forward_to(second)
    first.complete(3)
    assert second.result() == 3
    Promise[int].failed(KeyError("k")).forward_to(third)
    with pytest.raises(KeyError):
        third.result()
