"""The share of the test modules that a parallel worker compiles for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared_bytecode import first_modules, modules_below

ROOT = Path(__file__).parents[1]


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
