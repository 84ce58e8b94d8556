"""The parallel workers (`make unit`, `make system`): the groups of tests that share one, the order of the groups, and
the modules that each worker compiles.

Tests of one file share a worker, since they share its fixtures. So do all tests of a package with an expensive fixture
(one Spark, one Kafka). The longest groups begin first: else they run alone at the end, and the other workers are idle.

pytest rewrites the asserts of a test module and keeps the bytecode in `__pycache__`: in a fresh clone 20 s of processor
time for all of them. Each worker imports all modules, in the same order and at the same time, so that each one would
compile nearly everything. A worker that imports its own share first finds the others' share compiled.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

import pytest
from xdist.scheduler import LoadScopeScheduling

# Packages that share one worker; the first that fits counts. The pipeline is two: on one worker its tests are the last
# to end, by five minutes, and a Spark of its own costs half a minute.
_TOGETHER = ("tests/pipeline/tables", "tests/pipeline", "tests/tools/chaos")
# In the order in which they begin; everything else follows as it was collected.
_FIRST = (
    "tests/pipeline",
    "tests/system/pipeline",
    "tests/tools/chaos",
    "tests/tools/mutants",
    "tests/wiring",
    "tests/system/zookeeper/test_log_directory_of_kafka.py",
    "tests/system/distribution",
    "tests/system/storage/test_partition_folders_of_kafka_4.py",
    "tests/system/controller/test_two_bounces.py",
    "tests/system/listeners/test_rolling_listeners.py",
    "tests/system/storage/test_lost_directories.py",
    "tests/system/interop_security",
)


def group_of(path: str) -> str:
    """The group of a test file: a path below the project, with slashes."""
    return next((each for each in _TOGETHER if path.startswith(each)), path)


def rank_of(path: str) -> int:
    """The position of a test file in the order: 0 begins first."""
    return next((rank for rank, each in enumerate(_FIRST) if path.startswith(each)), len(_FIRST))


def order_items(root: PurePath, items: list[pytest.Item]) -> None:
    """Moves the tests that begin first to the front, in place."""
    items.sort(key=lambda item: rank_of(item.path.relative_to(root).as_posix()))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each worker of pytest-xdist whole groups, the next one when its last one is nearly complete."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0])


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
