"""The tests that share a worker, their order, and the share of the modules that a worker compiles for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worker_groups import _FIRST, _TOGETHER, first_modules, group_of, modules_below, rank_of

ROOT = Path(__file__).parents[1]


def test_a_file_is_a_group_unless_its_package_is() -> None:
    assert group_of("tests/client/test_admin.py") == "tests/client/test_admin.py"
    assert group_of("tests/pipeline/audit/test_run.py") == group_of("tests/pipeline/test_engine.py") == "tests/pipeline"
    assert group_of("tests/pipeline/tables/test_run.py") == "tests/pipeline/tables"


def test_what_takes_long_begins_first() -> None:
    assert rank_of("tests/pipeline/test_engine.py") == 0
    assert rank_of("tests/client/test_admin.py") == len(_FIRST)


def test_every_path_exists() -> None:
    assert [each for each in (*_TOGETHER, *_FIRST) if not list(ROOT.glob(f"{each}*"))] == []


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
def test_the_shares_of_all_workers_are_all_modules(count: int, workers: int) -> None:
    modules = [f"tests.test_{number}" for number in range(count)]
    shares = [first_modules(modules, worker, workers) for worker in range(1, workers)]
    begins = [0, *(count - len(share) for share in shares)]
    assert begins == sorted(begins)
    assert all(later - earlier <= count // workers + 1 for earlier, later in zip(begins, [*begins[1:], count]))
    assert all(list(share) == modules[count - len(share) :] for share in shares)
    assert first_modules(modules, 0, workers) == ()


def test_modules_are_named_as_pytest_names_them() -> None:
    names = modules_below(ROOT, [ROOT / "tests"], [ROOT / "tests" / "system"])
    assert __name__ in names
    assert not any(name.startswith("tests.system.") for name in names)
    assert names == sorted(names, key=lambda name: Path(*name.split(".")).with_suffix(".py"))
