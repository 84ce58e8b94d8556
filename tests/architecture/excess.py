"""What a check returns: an excess is something over a limit, with the places where it can be mended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A line, what is wrong there, and what to do."""

    path: str
    line: int
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.advice}"


@dataclass(frozen=True)
class Excess:
    """`key` is its entry in the debt list: a path, or `path::name` for a function or class."""

    key: str
    figure: int
    places: tuple[Place, ...]


def excess_at(key: str, figure: int, advice: str, line: int = 1) -> Excess:
    """An excess with one place."""
    return Excess(key, figure, (Place(key.partition("::")[0], line, advice),))


def count_per_file(places: list[Place]) -> list[Excess]:
    """An excess for each file: the figure is the number of its places."""
    files: dict[str, list[Place]] = {}
    for place in places:
        files.setdefault(place.path, []).append(place)
    return [Excess(path, len(its_places), tuple(its_places)) for path, its_places in files.items()]
