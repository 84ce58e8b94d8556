"""In a fresh clone the parallel workers compile the test modules together, not each of them all.

pytest rewrites the asserts of a test module and keeps the bytecode in `__pycache__`: 20 s of processor time for all of
them. Each worker imports all modules, in the same order and at the same time, so that each one would compile nearly
everything. A worker that imports its own share first finds the others' share compiled when it comes to it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest


def first_modules(modules: Sequence[str], worker: int, workers: int) -> Sequence[str]:
    """The modules that worker number `worker` (from 0) imports before the others: the order goes on from its share to
    the end. The first worker begins at the begin, as the collection does: it imports nothing before."""
    return modules[len(modules) * worker // workers :] if worker else ()


def modules_below(root: Path, folders: Sequence[Path], ignored: Sequence[Path]) -> list[str]:
    """The names of the test modules in these folders, in the order of the collection."""
    paths = sorted(path for folder in folders for path in folder.rglob("test_*.py"))
    chosen = [path for path in paths if not any(each in path.parents for each in ignored)]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in chosen]


def import_own_share(config: pytest.Config) -> None:
    """Does nothing but in a worker of pytest-xdist. A module that cannot be imported is the collection's to report."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not number:
        return
    root = config.rootpath
    folders = [root / argument for argument in config.args if (root / argument).is_dir()]
    ignored = [root / each for each in config.getoption("ignore") or ()]
    modules = modules_below(root, folders, ignored)
    for module in first_modules(modules, int(number), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])):
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(module)
