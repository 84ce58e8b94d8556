"""The groups of tests that share a worker in parallel runs (`make unit`, `make system`), and the order of the groups.

Tests of one file share a worker, since they share its fixtures. So do all tests of a package with an expensive fixture
(one Spark, one Kafka). The longest groups begin first: else they run alone at the end, and the other workers are idle.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest
from xdist.scheduler import LoadScopeScheduling

# Packages that share one worker.
_TOGETHER = ("tests/pipeline", "tests/tools/chaos")
# In the order in which they begin; everything else follows as it was collected.
_FIRST = (
    "tests/pipeline",
    "tests/system/pipeline",
    "tests/tools/chaos",
    "tests/tools/mutants",
    "tests/wiring",
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
