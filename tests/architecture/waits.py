"""Waits in tests: no sleeping, and no upper bound on real time that a slow machine can miss.

`time.sleep(…)` and `asyncio.sleep(…)` count unless the argument is 0. `asyncio.timeout(n)`, `wait_for(…, n)` and
`until…(timeout_s=n)` count if n is a constant below 30 seconds, and so does `clock() - began < n`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from tests.architecture.exceptions import is_excepted
from tests.architecture.excess import Excess, Place, count_per_file
from tests.architecture.source_tree import SourceFile

SHORTEST_BOUND_S = 30
# A file without these words has no such call, and its tree is not walked.
_SLEEPS = re.compile(r"\bsleep\(")
_BOUNDS = re.compile(r"\.timeout\(|wait_for\(|until\w*\(")
_DURATIONS = re.compile(r"\(\) - .* <")
_CLOCKS = ("monotonic", "perf_counter", "time")
_SLEEP_ADVICE = "sleeps: await the event, use ManualClock, or poll the condition with tests/waiting.py"


def sleeps(files: Sequence[SourceFile], exceptions: Sequence[str]) -> list[Excess]:
    """Calls in tests that sleep."""
    places = [
        Place(file.path, call.lineno, f"{ast.unparse(call.func)} {_SLEEP_ADVICE}")
        for file in files
        if _is_test(file) and _SLEEPS.search(file.text) and not is_excepted(file.path, exceptions)
        for call in file.calls
        if _name(call) == "sleep" and not (call.args and _constant(call.args[0]) == 0)
    ]
    return count_per_file(places)


def short_bounds(files: Sequence[SourceFile], exceptions: Sequence[str]) -> list[Excess]:
    """Upper bounds in tests that are shorter than a busy machine may need."""
    places = []
    for file in files:
        if not _is_test(file) or is_excepted(file.path, exceptions):
            continue
        if _BOUNDS.search(file.text):
            for call in file.calls:
                bound_s = _bound_s(call)
                if bound_s is not None and bound_s < SHORTEST_BOUND_S:
                    advice = f"{_name(call)} ends after {bound_s:g} s: allow {SHORTEST_BOUND_S} s or more"
                    places.append(Place(file.path, call.lineno, advice))
        if _DURATIONS.search(file.text):
            for comparison in file.comparisons:
                longest_s = _longest_s(comparison)
                if longest_s is not None and longest_s < SHORTEST_BOUND_S:
                    advice = f"it may take {longest_s:g} s: allow {SHORTEST_BOUND_S} s or more, or count steps"
                    places.append(Place(file.path, comparison.lineno, advice))
    return count_per_file(places)


def _is_test(file: SourceFile) -> bool:
    return file.is_python and file.path.startswith("tests/")


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _bound_s(call: ast.Call) -> float | None:
    """The constant upper bound of a wait; None for other calls."""
    name = _name(call)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name == "timeout" and call.args:
        return _constant(call.args[0])
    if name == "timeout":
        return _constant(keywords.get("delay"))
    if name == "wait_for":
        return _constant(call.args[1] if len(call.args) > 1 else keywords.get("timeout"))
    if name.startswith("until"):
        return _constant(keywords.get("timeout_s"))
    return None


def _longest_s(comparison: ast.Compare) -> float | None:
    """The constant of `clock() - began < n`; None for other comparisons."""
    match comparison:
        case ast.Compare(
            left=ast.BinOp(left=ast.Call() as call, op=ast.Sub()), ops=[ast.Lt() | ast.LtE()], comparators=[bound]
        ) if _name(call) in _CLOCKS:
            return _constant(bound)
        case _:
            return None


def _constant(value: ast.expr | None) -> float | None:
    match value:
        case ast.Constant(value=int() | float() as number):
            return number
        case _:
            return None
