"""A module's functions get the code of a changed source, wherever they are defined."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tools.mutants.code_swap import swap_code

TEXT = """
def double(number):
    return number * 2

class Counter:
    def __init__(self):
        self.count = 0

    @staticmethod
    def step():
        return 1

    def add(self):
        self.count += self.step()
        return self.count
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "swapped_module.py"
    file.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("swapped_module", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[made.__name__] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules[made.__name__]


def test_functions_methods_and_static_methods_change_where_they_are_held(module: ModuleType) -> None:
    held, counter = module.double, module.Counter()
    text = TEXT.replace("number * 2", "number * 3").replace("return 1", "return 5").replace("+= self", "-= self")
    assert swap_code(module, text) == 3
    assert held(2) == 6
    assert counter.add() == -5


def test_the_same_source_changes_nothing(module: ModuleType) -> None:
    assert swap_code(module, TEXT) == 0


def test_a_change_outside_of_functions_changes_nothing(module: ModuleType) -> None:
    assert swap_code(module, TEXT + "\nMORE = 1\n") == 0
