"""The mutated files are decisions; most have mirrored tests. The same seed draws the same mutants, each at most once,
from all files in proportion to their mutants."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tools.mutants.targets import draw, targets

_ROOT = Path(__file__).parents[3]
COUNTS = {"b.py": 900, "a.py": 100, "none.py": 0, "c.py": 1}


def test_each_has_the_test_file_that_mirrors_it() -> None:
    found = targets(_ROOT)
    assert len(found) > 100
    assert all((_ROOT / path).is_file() for path in found)
    assert sum((_ROOT / path).is_file() for path in found.values()) > 100
    assert found["src/signalbox/controller/topics/topic_control.py"] == "tests/controller/topics/test_topic_control.py"


def test_every_package_of_decisions_is_there() -> None:
    found = targets(_ROOT)
    for package in ("controller", "replication", "client/cluster", "network/quotas", "broker/handlers"):
        assert any(path.startswith(f"src/signalbox/{package}/") for path in found), package


def test_a_seed_is_a_draw() -> None:
    assert draw(COUNTS, 50, Random(1)) == draw(COUNTS, 50, Random(1))
    assert draw(COUNTS, 50, Random(1)) != draw(COUNTS, 50, Random(2))


def test_each_mutant_has_the_same_chance() -> None:
    drawn = draw(COUNTS, 500, Random(3))
    assert sum(map(len, drawn.values())) == 500
    assert all(len(set(numbers)) == len(numbers) for numbers in drawn.values())
    assert all(0 <= number < COUNTS[file] for file, numbers in drawn.items() for number in numbers)
    assert 30 < len(drawn["a.py"]) < 70


def test_all_of_few() -> None:
    drawn = draw(COUNTS, 5_000, Random(4))
    assert {file: len(numbers) for file, numbers in drawn.items()} == {"a.py": 100, "b.py": 900, "c.py": 1}
    assert drawn["b.py"] == list(range(900))
