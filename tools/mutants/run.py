"""Runs the mirrored tests of one source file against its mutants, each in a fork of a process that has loaded them."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from tools.mutants.code_swap import swap_code
from tools.mutants.mutations import FileMutations, Mutant

_PASSED, _FAILED, _NO_CHANGE = 0, 1, 77
_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
_SHORTEST_TIMEOUT_S, _TIMEOUT_FACTOR = 10.0, 5.0
_FIRST_TIMEOUT_S = 300.0
_RAN_NO_TEST = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)


class BaselineError(Exception):
    """The tests of a file fail without a mutant, or there are none."""


@dataclass(frozen=True)
class FileResult:
    """`unchanged`: how many of the drawn mutants change no code that can be replaced."""

    source: str
    drawn: int
    survivors: list[Mutant]
    unchanged: int


def run_file(root: Path, source: str, test: str, numbers: list[int]) -> FileResult:
    """Runs the mutants with these numbers. BaselineError if the tests fail without one."""
    os.chdir(root)
    mutations = FileMutations(source, (root / source).read_text())
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main([*_OPTIONS, "--collect-only", test])  # loads what the tests import, once
    module = importlib.import_module(source.removeprefix("src/").removesuffix(".py").replace("/", "."))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tests = _Tests(test, Path(folder))
        start = time.monotonic()
        if tests.run(_no_mutant, _FIRST_TIMEOUT_S) != _PASSED:
            raise BaselineError(f"{test} fails without a mutant")
        timeout_s = max(_SHORTEST_TIMEOUT_S, _TIMEOUT_FACTOR * (time.monotonic() - start))
        alive, unchanged = [], 0
        for number in numbers:
            mutant = mutations.mutant(number)
            exit_code = tests.run(partial(_change, module, mutant.text), timeout_s)
            if exit_code == _PASSED:
                alive.append(mutant)
            unchanged += exit_code == _NO_CHANGE
    return FileResult(source, len(numbers), alive, unchanged)


def _no_mutant() -> bool:
    return True


def _change(module: ModuleType, text: str) -> bool:
    """Puts the mutant in; false if it changes no code that can be replaced."""
    try:
        return swap_code(module, text) > 0
    except (ValueError, SyntaxError):
        return False


class _Tests:
    """The tests of a file. Each run is a fork with a temporary directory of its own, deleted afterwards: a fork that is
    killed deletes nothing, and two processes that share pytest's would delete each other's."""

    def __init__(self, test: str, folder: Path) -> None:
        self._test = test
        self._temporary = folder / "pytest"

    def run(self, change: Callable[[], bool], timeout_s: float) -> int:
        """pytest's exit code after `change`, or _NO_CHANGE. BaselineError if pytest finds no test."""

        def run_tests() -> int:
            if not change():
                return _NO_CHANGE
            return int(pytest.main([*_OPTIONS, f"--basetemp={self._temporary}", self._test]))

        exit_code = _in_fork(run_tests, timeout_s)
        shutil.rmtree(self._temporary, ignore_errors=True)
        if exit_code in _RAN_NO_TEST:
            raise BaselineError(f"{self._test}: pytest runs no test (exit code {exit_code})")
        return exit_code


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
