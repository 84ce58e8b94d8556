"""The marker `system`: tests that need more than Python. `make unit` leaves them out, `make system` runs them.

Marked are all tests in `tests/system`, and tests of the pipeline that use the fixtures with Spark or a cluster. A test
that starts Spark or fetches packages without these fixtures carries the marker itself.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest

SYSTEM = "system: needs more than Python: other clients, killed processes, Spark, packages to fetch"
_FOLDER, _PIPELINE = PurePath("tests/system"), PurePath("tests/pipeline")
_FIXTURES = frozenset({"spark", "topics"})


def needs_system(path: PurePath, fixtures: frozenset[str]) -> bool:
    """Whether a test of the file (below the project) with these fixtures is marked."""
    return path.is_relative_to(_FOLDER) or (path.is_relative_to(_PIPELINE) and not fixtures.isdisjoint(_FIXTURES))


def mark_system(root: PurePath, items: list[pytest.Item]) -> None:
    """Marks the tests that need more than Python."""
    for item in items:
        fixtures = frozenset(getattr(item, "fixturenames", ()))
        if needs_system(PurePath(item.path.relative_to(root)), fixtures):
            item.add_marker(pytest.mark.system)
