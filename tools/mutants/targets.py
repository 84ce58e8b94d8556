"""The source files that are mutated, each with the test file that mirrors it; the folders with their tests; and the
draw among their mutants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

_SOURCES = (
    "controller/**/*.py",
    "replication/**/*.py",
    "client/cluster/rebootstrap*.py",
    "network/quotas/*.py",
    "network/connection_registry.py",
    "broker/handlers/**/*.py",
)


TEST_FOLDERS = ("tests/broker", "tests/client", "tests/controller", "tests/network", "tests/replication")


def targets(root: Path) -> dict[str, str]:
    """The path of each source file = the path of the test file that mirrors it, if there is one, below `root`."""
    package = root / "src" / "signalbox"
    found = sorted({path.relative_to(package) for pattern in _SOURCES for path in package.glob(pattern)})
    return {f"src/signalbox/{path}": str(Path("tests") / path.parent / f"test_{path.name}") for path in found}


def draw(counts: Mapping[str, int], wanted: int, random: Random) -> dict[str, list[int]]:
    """The numbers of the drawn mutants by file, ascending; each mutant has the same chance. All, if there are fewer."""
    files = sorted(counts)
    everything = sum(counts.values())
    chosen = sorted(random.sample(range(everything), min(wanted, everything)))
    drawn: dict[str, list[int]] = {}
    file, first = iter(files), 0
    name = next(file, "")
    for number in chosen:
        while number >= first + counts[name]:
            first += counts[name]
            name = next(file)
        drawn.setdefault(name, []).append(number - first)
    return drawn
