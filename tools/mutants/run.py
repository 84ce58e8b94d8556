"""Runs tests against the mutants of one source file, each in a fork of a process that has loaded both."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from tools.mutants.code_swap import swap_code
from tools.mutants.line_tests import OPTIONS, LineTests, TestsFailed
from tools.mutants.mutations import FileMutations, Mutant

_PASSED, _FAILED, _NO_CHANGE = 0, 1, 77
# --assert=plain, since pytest would otherwise rewrite the asserts of the package too: it contains a plugin.
_OPTIONS = [*OPTIONS, "-x", "--assert=plain"]
_SHORTEST_TIMEOUT_S, _TIMEOUT_FACTOR = 10.0, 5.0
_FIRST_TIMEOUT_S = 300.0
_SHOWN_LINES = 12
_RAN_NO_TEST = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass(frozen=True)
class FileResult:
    """`untested`: how many of the survivors no test runs; `unchanged`: how many of the drawn mutants change no code
    that can be replaced; `failing`: tests that fail without a mutant, which are not used, with the reasons."""

    source: str
    drawn: int
    survivors: list[Mutant]
    untested: int = 0
    unchanged: int = 0
    failing: Mapping[str, str] = field(default_factory=dict)  # test → reason


def run_file(
    root: Path,
    source: str,
    mirror: str,
    numbers: Sequence[int],
    line_tests: LineTests,
    shortest_timeout_s: float = _SHORTEST_TIMEOUT_S,
) -> FileResult:
    """Runs the mutants with these numbers; `mirror` is the source's test file."""
    os.chdir(root)
    mutations = FileMutations(source, (root / source).read_text())
    mutants = [mutations.mutant(number) for number in numbers]
    chosen = [line_tests.tests_of(mutations.lines_of(mutant), mirror) for mutant in mutants]
    all_tests = sorted(set().union(*chosen))
    if not all_tests:
        return FileResult(source, len(mutants), mutants, untested=len(mutants))
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main([*_OPTIONS, "--collect-only", *all_tests])  # loads what the tests import, once
    module = importlib.import_module(source.removeprefix("src/").removesuffix(".py").replace("/", "."))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        runner = _Runner(Path(folder), line_tests.seconds, shortest_timeout_s)
        failing = runner.failing(all_tests)
        alive, untested, unchanged = [], 0, 0
        for mutant, found in zip(mutants, chosen, strict=True):
            tests = [test for test in found if test not in failing]
            exit_code = runner.run(tests, partial(_change, module, mutant.text)) if tests else _PASSED
            if exit_code == _PASSED:
                alive.append(mutant)
            untested += not tests
            unchanged += exit_code == _NO_CHANGE
    return FileResult(source, len(mutants), alive, untested, unchanged, failing)


def _change(module: ModuleType, text: str) -> bool:
    """Puts the mutant in; false if it changes no code that can be replaced."""
    try:
        return swap_code(module, text) > 0
    except (ValueError, SyntaxError):
        return False


class _Runner:
    """Runs tests in forks. Each has a temporary directory of its own, deleted afterwards: a fork that is killed deletes
    nothing, and two processes that share pytest's would delete each other's."""

    def __init__(self, folder: Path, seconds: Mapping[str, float], shortest_timeout_s: float) -> None:
        self._temporary = folder / "pytest"
        self._seconds = seconds
        self._shortest_timeout_s = shortest_timeout_s

    def failing(self, tests: Sequence[str]) -> dict[str, str]:
        """The tests that fail without a mutant, with the reason; all, if pytest does not come to its end."""
        file = self._temporary.with_name("failing")
        file.write_text(json.dumps(dict.fromkeys(tests, "pytest did not end")))
        self._fork(tests, lambda: True, _FIRST_TIMEOUT_S, ["--maxfail=0"], [_Failures(file)])
        failed: dict[str, str] = json.loads(file.read_text())
        return failed

    def run(self, tests: Sequence[str], change: Callable[[], bool]) -> int:
        """pytest's exit code after `change`, or _NO_CHANGE."""
        usual_s = sum(self._seconds[test] for test in tests)
        return self._fork(tests, change, max(self._shortest_timeout_s, _TIMEOUT_FACTOR * usual_s))

    def _fork(
        self,
        tests: Sequence[str],
        change: Callable[[], bool],
        timeout_s: float,
        options: Sequence[str] = (),
        plugins: Sequence[object] = (),
    ) -> int:
        def run_tests() -> int:
            if not change():
                return _NO_CHANGE
            return int(pytest.main([*_OPTIONS, f"--basetemp={self._temporary}", *options, *tests], plugins))

        exit_code = _in_fork(run_tests, timeout_s)
        shutil.rmtree(self._temporary, ignore_errors=True)
        if exit_code in _RAN_NO_TEST:
            raise TestsFailed(f"{' '.join(tests)}: pytest runs no test (exit code {exit_code})")
        return exit_code


class _Failures:
    """A pytest plugin that writes the tests that failed, and the last lines of their reports, to a file at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._failed: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            reason = "\n".join(report.longreprtext.splitlines()[-_SHOWN_LINES:])
            self._failed[report.nodeid.partition("[")[0]] = reason

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps(self._failed))


def _in_fork(function: Callable[[], int], timeout_s: float) -> int:
    """The exit code of a child process that calls `function`; a child that takes too long is killed: _FAILED."""
    child = os.fork()
    if child == 0:
        code = _FAILED
        try:
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            code = function()
        finally:
            os._exit(code)
    descriptor = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([descriptor], [], [], timeout_s)
    finally:
        os.close(descriptor)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ready else _FAILED
