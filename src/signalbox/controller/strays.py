"""Entries that stand where the layout has none, below entries that may have to go.

No reader asks for them, but no store deletes an entry that has some below it: one `create /admin/delete_topics/t/x` of
an operator and every controller would end its term over the deletion of `t`. They go with what they stand below, as
they do in Kafka, which deletes whole trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from signalbox.metadata import layout
from signalbox.metadata.store.port import Entry

# By the folder that is read: what may stand below it.
_PLACES: dict[str, str] = {
    layout.TOPICS: r"[^/]+(/partitions(/(0|[1-9][0-9]{0,9})(/state)?)?)?",
    layout.DELETE_TOPICS: r"[^/]+",
    layout.CONFIG: r"users(/[^/]+(/clients(/[^/]+)?)?)?|[^/]+(/[^/]+)?",
    layout.DELEGATION_TOKENS: r"[^/]+",
    layout.FORWARDED: r"[^/]+",
}
_KNOWN = re.compile("|".join(f"{folder}(/({below}))?" for folder, below in _PLACES.items()))


def strays_of(*trees: Mapping[str, Entry]) -> tuple[str, ...]:
    """What the layout does not know in trees of these folders, the deepest first."""
    found = [path for tree in trees for path in tree if not _KNOWN.fullmatch(path)]
    return tuple(sorted(found, reverse=True))


def below(path: str, strays: Iterable[str]) -> Iterator[str]:
    """Those that stand below `path`, in the order given."""
    return (stray for stray in strays if stray.startswith(f"{path}/"))
