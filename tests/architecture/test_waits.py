"""Waits: which calls in tests count as sleeping or as a short upper bound."""

from __future__ import annotations

import pytest

from tests.architecture.source_tree import SourceFile
from tests.architecture.waits import short_bounds, sleeps


def one_test(text: str, path: str = "tests/test_a.py") -> list[SourceFile]:
    return [SourceFile(path, text)]


@pytest.mark.parametrize("call", ["time.sleep(1)", "sleep(0.1)", "asyncio.sleep(0.01)", "asyncio.sleep(pause_s)"])
def test_sleeps(call: str) -> None:
    (excess,) = sleeps(one_test(f"\n{call}\n"), ())
    assert (excess.figure, excess.places[0].line) == (1, 2)
    assert sleeps(one_test(call), ["tests/test_a.py"]) == []
    assert sleeps(one_test(call, "src/a.py"), ()) == []


@pytest.mark.parametrize("text", ["asyncio.sleep(0)", "'time.sleep(1)'", "# time.sleep(1)", "run(held=time.sleep)"])
def test_what_does_not_sleep(text: str) -> None:
    assert sleeps(one_test(text), ()) == []


@pytest.mark.parametrize(
    "call",
    [
        "asyncio.timeout(29)",
        "asyncio.timeout(delay=5)",
        "asyncio.wait_for(f(), 2.5)",
        "asyncio.wait_for(f(), timeout=5)",
        "until_true(f, timeout_s=10)",
        "assert time.monotonic() - began < 2.5",
        "assert asyncio.get_running_loop().time() - began <= 5",
    ],
)
def test_short_bounds(call: str) -> None:
    (excess,) = short_bounds(one_test(call), ())
    assert (excess.key, excess.figure) == ("tests/test_a.py", 1)
    assert short_bounds(one_test(call, "bench/a.py"), ()) == []


@pytest.mark.parametrize(
    "call",
    [
        "asyncio.timeout(30)",
        "asyncio.timeout(None)",
        "wait_for(f(), LIMIT_S)",
        "until(f)",
        "f(timeout=1)",
        "monotonic() - began < 30",
    ],
)
def test_long_bounds_and_other_calls(call: str) -> None:
    assert short_bounds(one_test(call), ()) == []
