"""The chunks of a very long response: gathered into pieces of some kilobytes while it is written.

Joining and freeing a million small chunks at the end would take as long as writing them.
"""

from __future__ import annotations

from typing import Any

from signalbox.common.cooperative_task import yield_if_due

_GATHER_FROM = 512


class CooperativeChunks(list[Any]):
    """The list to which the generated code appends; the chunks in `gathered` precede it."""

    __slots__ = ("gathered",)

    def __init__(self) -> None:
        super().__init__()
        self.gathered: list[Any] = []


def gather(chunks: list[Any], places: list[int], at_least: int = _GATHER_FROM) -> None:
    """Join the present chunks between records, which stay unchanged (`places` are their indexes). Yields. Tagged
    sections are written to a plain list of their own, which is not gathered."""
    if type(chunks) is CooperativeChunks and len(chunks) >= at_least:
        chunks.gathered += join_between(chunks, places)
        chunks.clear()
        places.clear()
    yield_if_due()


def join_between(chunks: list[Any], places: list[int]) -> list[Any]:
    """Chunks joined between records; every records value is a chunk of its own, unchanged."""
    joined: list[Any] = []
    start = 0
    for place in places:
        joined.append(b"".join(chunks[start:place]))
        joined.append(chunks[place])
        start = place + 1
    if start < len(chunks):
        joined.append(b"".join(chunks[start:]))
    return joined
