"""The chunks of an answer that is too long for one go: gathered into pieces of some kilobytes while it is written.

A million small chunks at the end would take as long to join, and to free, as they took to write.
"""

from __future__ import annotations

from typing import Any

from signalbox.common.long_work import breathe

_GATHER_FROM = 512


class LongChunks(list[Any]):
    """What the generated code appends to; `gathered` is in front of it."""

    __slots__ = ("gathered",)

    def __init__(self) -> None:
        super().__init__()
        self.gathered: list[Any] = []


def gather(chunks: list[Any], places: list[int], at_least: int = _GATHER_FROM) -> None:
    """Join what is there, up to records, which stay as they are (`places` are their indexes); then give way. Tagged
    sections are written to a plain list of their own, which is left alone."""
    if type(chunks) is LongChunks and len(chunks) >= at_least:
        chunks.gathered += join_between(chunks, places)
        chunks.clear()
        places.clear()
    breathe()


def join_between(chunks: list[Any], places: list[int]) -> list[Any]:
    """Chunks joined between records; every records value is a chunk of its own, untouched."""
    joined: list[Any] = []
    start = 0
    for place in places:
        joined.append(b"".join(chunks[start:place]))
        joined.append(chunks[place])
        start = place + 1
    if start < len(chunks):
        joined.append(b"".join(chunks[start:]))
    return joined
