"""`/signalbox_shared_changes`: one line of history for what more than one broker may write (SPEC F17).

Below the gate of the roll-out every broker stores changes of configs, ACLs and the like by itself, while the active
controller has all of it in memory. So every commit that changes such entries also writes this one, with the version
that its writer last saw: of two writers that did not know of each other one is refused, looks again and decides again.
The entry's data names what was changed under which version, so that the controller reads just that. Kafka has no such
entry, and its readers do not look for one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from signalbox.metadata import layout
from signalbox.metadata.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.store.port import Entry, Operation, Write

log = logging.getLogger(__name__)

MAX_NAMED_BYTES = 32_768  # of paths, with what is around them; whoever missed more looks at everything
_AROUND_BYTES = 24

_SHARED = (
    f"{layout.CONFIG}/",
    f"{layout.ACLS}/",
    f"{layout.PREFIXED_ACLS}/",
    f"{layout.DELEGATION_TOKENS}/",
)
_NEWS = (f"{layout.CONFIG_CHANGES}/",)


@dataclass(frozen=True, slots=True)
class SharedChanges:
    """The entry at one moment. `named` is (version, path), oldest first."""

    version: int = 0
    named: tuple[tuple[int, str], ...] = ()

    def since(self, version: int) -> list[tuple[int, str]] | None:
        """What was changed after `version`; None when that is not known any more."""
        found = [(number, path) for number, path in self.named if number > version]
        known = version >= self.version or (bool(found) and found[0][0] == version + 1)
        return found if known else None

    def followed_by(self, paths: Iterable[str]) -> SharedChanges:
        """The entry after one more commit, which changed these."""
        number = self.version + 1
        named = [*self.named, *((number, path) for path in paths)]
        sizes = accumulate(len(path.encode()) + _AROUND_BYTES for _, path in reversed(named))
        kept = sum(1 for size_bytes in sizes if size_bytes <= MAX_NAMED_BYTES)
        if kept < len(named):
            # All of a version or nothing: half of it would pass for all.
            half = named[-kept - 1][0]
            named = [each for each in named if each[0] > half]
        return SharedChanges(number, tuple(named))

    def operation(self) -> Operation:
        """Stores this, unless somebody else wrote meanwhile."""
        data = encode_json({"version": 1, "changed": [list(each) for each in self.named]})
        return Write(layout.SHARED_CHANGES, data, self.version - 1)


def decode_shared_changes(entry: Entry | None) -> SharedChanges:
    """The entry is among the roots of the layout and empty at first. One that is damaged names nothing: what counts is
    its version, which is the store's."""
    if entry is None or entry.data is None:
        return SharedChanges(entry.version if entry is not None else 0)
    try:
        changed = decode_json(entry.data, layout.SHARED_CHANGES)["changed"]
        return SharedChanges(entry.version, tuple((int(number), str(path)) for number, path in changed))
    except (BadEntry, AttributeError, KeyError, TypeError, ValueError) as error:
        log.error("%s names no changes, everything is looked at: %r", layout.SHARED_CHANGES, error)
        return SharedChanges(entry.version)


def shared_paths(operations: Iterable[Operation]) -> list[str]:
    """Which of the entries that more than one broker may write these operations change, topics just made included."""
    return [operation.path for operation in operations if is_shared(operation)]


def is_shared(operation: Operation) -> bool:
    """Whether the operation changes such an entry."""
    path = operation.path
    if path.startswith(f"{layout.TOPICS}/"):
        return path.count("/") == layout.TOPICS.count("/") + 1
    return path.startswith(_SHARED) and not path.startswith(_NEWS)
