"""Runs the mirrored tests of one source file against its mutants, each in a fork of a process that has loaded them."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
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


class BaselineError(Exception):
    """The tests of a file fail without a mutant."""


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
    start = time.monotonic()
    if _in_fork(lambda: _tests(test), _FIRST_TIMEOUT_S) != _PASSED:
        raise BaselineError(test)
    timeout_s = max(_SHORTEST_TIMEOUT_S, _TIMEOUT_FACTOR * (time.monotonic() - start))
    alive, unchanged = [], 0
    for number in numbers:
        mutant = mutations.mutant(number)
        exit_code = _in_fork(partial(_run_mutant, module, mutant.text, test), timeout_s)
        if exit_code == _PASSED:
            alive.append(mutant)
        unchanged += exit_code == _NO_CHANGE
    return FileResult(source, len(numbers), alive, unchanged)


def _run_mutant(module: ModuleType, text: str, test: str) -> int:
    try:
        changed = swap_code(module, text)
    except (ValueError, SyntaxError):
        changed = 0
    return _tests(test) if changed else _NO_CHANGE


def _tests(test: str) -> int:
    return int(pytest.main([*_OPTIONS, test]))


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
