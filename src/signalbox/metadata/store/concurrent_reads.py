"""Reads of the metadata store that do not wait for one another. Each is of its own moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from signalbox.metadata.store.port import Entry, MetadataStore

First = TypeVar("First")
Second = TypeVar("Second")
Found = TypeVar("Found")

_READS_AT_ONCE = 100  # more would be held in memory as requests and as answers


async def both(first: Coroutine[Any, Any, First], second: Coroutine[Any, Any, Second]) -> tuple[First, Second]:
    """The results of two reads."""
    found: tuple[First, Second] = await asyncio.gather(first, second)
    return found


async def read_all(store: MetadataStore, paths: Iterable[str]) -> list[Entry | None]:
    """The entry of each path, None for one that does not exist."""
    return await _of_each(store.read, paths)


async def read_trees(store: MetadataStore, paths: Iterable[str]) -> dict[str, Entry]:
    """All entries at and below these paths."""
    tree: dict[str, Entry] = {}
    for part in await _of_each(store.read_tree, paths):
        tree |= part
    return tree


async def children_of(store: MetadataStore, *paths: str) -> list[list[str]]:
    """The names of the entries directly below each path."""
    return await _of_each(store.children, paths)


async def _of_each(read: Callable[[str], Awaitable[Found]], paths: Iterable[str]) -> list[Found]:
    found: list[Found] = []
    wanted = [*paths]
    for start in range(0, len(wanted), _READS_AT_ONCE):
        found += await asyncio.gather(*map(read, wanted[start : start + _READS_AT_ONCE]))
    return found
