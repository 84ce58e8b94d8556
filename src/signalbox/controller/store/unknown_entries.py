"""Unknown entries: those that the layout does not have, below entries that may be deleted.

No node reads them, but a store does not delete an entry with others below it. One `create /admin/delete_topics/t/x` by
an operator, and the deletion of `t` would end every controller epoch. So they are deleted with the entry above them, as
in Kafka, which deletes whole trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from signalbox.metadata import layout
from signalbox.metadata.store.port import Entry

# By the folder that is read: the entries that the layout has below it.
_PLACES: dict[str, str] = {
    layout.TOPICS: r"[^/]+(/partitions(/(0|[1-9][0-9]{0,9})(/state)?)?)?",
    layout.DELETE_TOPICS: r"[^/]+",
    layout.CONFIG: r"users(/[^/]+(/clients(/[^/]+)?)?)?|[^/]+(/[^/]+)?",
    layout.DELEGATION_TOKENS: r"[^/]+",
    layout.FORWARDED: r"[^/]+",
}
_KNOWN = re.compile("|".join(f"{folder}(/({below}))?" for folder, below in _PLACES.items()))


def unknown_entries_in(*trees: Mapping[str, Entry]) -> tuple[str, ...]:
    """The unknown entries in trees of these folders, the deepest first."""
    found = [path for tree in trees for path in tree if not _KNOWN.fullmatch(path)]
    return tuple(sorted(found, reverse=True))


def below(path: str, entries: Iterable[str]) -> Iterator[str]:
    """Those of `entries` that are below `path`, in their order."""
    return (entry for entry in entries if entry.startswith(f"{path}/"))
