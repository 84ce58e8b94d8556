"""Which tests run which lines of the mutated files, and how long each takes: pytest runs once under coverage.

A test is a test function with all its parameters, `tests/.../test_file.py::test_name`, since some parameters make
different ids in each run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest

OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-m", "not system"]
LONGEST_S = 5.0  # of all tests of one mutant, without a mutant


class TestsFailed(Exception):
    """Tests fail without a mutant, or there are none."""


@dataclass
class LineTests:
    """The tests of one source file. `by_line`: line → tests; `seconds`: of each test."""

    by_line: dict[int, set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: LineTests) -> None:
        """Adds another run's tests."""
        for line, tests in other.by_line.items():
            self.by_line.setdefault(line, set()).update(tests)
        self.seconds.update(other.seconds)

    def tests_of(self, lines: Iterable[int], mirror: str) -> list[str]:
        """The tests that run one of these lines, until they take LONGEST_S: those in the file `mirror` first, the
        fastest of each first."""
        found: set[str] = set().union(*(self.by_line.get(line, ()) for line in lines))
        return _within(LONGEST_S, found, mirror, self.seconds)


def _within(limit_s: float, tests: set[str], mirror: str, seconds: Mapping[str, float]) -> list[str]:
    ordered = sorted(tests, key=lambda test: (not test.startswith(f"{mirror}::"), seconds[test], test))
    chosen: list[str] = []
    total_s = 0.0
    for test in ordered:
        total_s += seconds[test]
        if chosen and total_s > limit_s:
            break
        chosen.append(test)
    return chosen


class _Contexts:
    """A pytest plugin: a test's lines are counted for it, its fixtures' too."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        test = item.nodeid.partition("[")[0]
        self._measured.switch_context(test)
        start = time.monotonic()
        yield
        self.seconds[test] += time.monotonic() - start


def measure(root: Path, folder: str, mirrors: Mapping[str, str]) -> dict[str, LineTests]:
    """Runs the tests of a folder (or file); returns those of each source file that is a key of `mirrors`. TestsFailed
    if one fails. In a process of its own: it loads the sources."""
    os.chdir(root)
    measured = coverage.Coverage(
        data_file=None, include=[str(root / source) for source in mirrors], concurrency=["thread", "greenlet"]
    )
    contexts = _Contexts(measured)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        measured.start()
        exit_code = pytest.main([*OPTIONS, folder], plugins=[contexts])
        measured.stop()
    if exit_code != pytest.ExitCode.OK:
        raise TestsFailed(f"{folder}: pytest ends with {exit_code!r} without a mutant")
    data = measured.get_data()
    found = {}
    for source, mirror in mirrors.items():
        by_line = {
            line: set(_within(LONGEST_S, {test for test in tests if test}, mirror, contexts.seconds))
            for line, tests in data.contexts_by_lineno(str(root / source)).items()
        }
        tests = set().union(*by_line.values()) if by_line else set()
        found[source] = LineTests(by_line, {test: contexts.seconds[test] for test in tests})
    return found
