"""The marker `system`: tests that need more than Python. `make unit` leaves them out, `make system` runs them.

Marked are all tests in `tests/system`, tests of the pipeline that use the fixtures with Spark or a cluster, and tests
of chaos that use the brokers it kills. A test with these needs and without these fixtures carries the marker itself.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest

SYSTEM = "system: needs more than Python: other clients, killed processes, Spark, packages to fetch"
_FOLDER = PurePath("tests/system")
_FIXTURES = {
    PurePath("tests/pipeline"): frozenset({"spark", "store", "topics"}),
    PurePath("tests/tools/chaos"): frozenset({"power"}),
}


def needs_system(path: PurePath, fixtures: frozenset[str]) -> bool:
    """Whether a test of the file (below the project) with these fixtures is marked."""
    return path.is_relative_to(_FOLDER) or any(
        path.is_relative_to(folder) and not fixtures.isdisjoint(needy) for folder, needy in _FIXTURES.items()
    )


def mark_system(root: PurePath, items: list[pytest.Item]) -> None:
    """Marks the tests that need more than Python."""
    for item in items:
        fixtures = frozenset(getattr(item, "fixturenames", ()))
        if needs_system(PurePath(item.path.relative_to(root)), fixtures):
            item.add_marker(pytest.mark.system)
