"""Corrupt entries: one policy for every entry of the metadata store that cannot be read (decision 0027).

An entry that another program or an incomplete restore has corrupted stops nothing. What is used in its place depends on
the kind of the entry (`EntryKind`); it is logged once, by one message. A quarantined entry stays in the store as it is:
the active controller counts it in the metric `CorruptEntryCount`, watches it, and starts a new controller epoch as soon
as it is mended, which reads it. Errors that prevent the start of a node or end a command are not the business of this
module.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ParamSpec, TypeVar

from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.store.port import MetadataStore

log = logging.getLogger(__name__)

T = TypeVar("T")
D = TypeVar("D")
P = ParamSpec("P")


class EntryKind(Enum):
    """The kinds of entries, with the effect until a corrupt one is mended; docs/metadata-store.md has the same list."""

    TOPIC = "its topic or partition is quarantined"
    CONFIGS = "its configs are ignored until they are set again"
    ACLS = "its ACLs are ignored until they are set again"
    TOKEN = "authentication with the delegation token fails"
    FEATURES = "no feature is finalized"
    PRODUCER_IDS = "no block of producer ids is allocated"
    KEPT_CONFIGS = "this broker keeps the previous configs"
    KEPT_ACLS = "this broker keeps the previous ACLs"
    KEPT_FEATURES = "this broker keeps the previous features"
    REGISTRATION = "the registration is ignored"
    REGISTERED_ADDRESS = "its addresses are not compared with those of this broker"
    CONTROLLER_REGISTRATION = "the controller is treated as supporting no features"
    BROKER_HISTORY = "the broker is treated as shut down uncleanly"
    SALT_SECRET = "salts of unknown users differ from those of other nodes"
    CLAIM = "the controller claim is replaced"
    CONTROLLER_EPOCH = "the controller epoch is replaced by one above all that can have been used"
    STORE_INCARNATION = "the metadata store is treated as a new one"
    CHANGE_LOG = "all entries with configs, ACLs and delegation tokens are read again"
    FORWARDED_RESPONSE = "the stored response of a forwarded request is ignored"
    LOG_DIR_EVENT = "the notification of a failed log directory is skipped"
    CHANGE_NOTIFICATION = "the change notification is skipped"


_QUARANTINED = {
    EntryKind.TOPIC,
    EntryKind.CONFIGS,
    EntryKind.ACLS,
    EntryKind.TOKEN,
    EntryKind.FEATURES,
    EntryKind.PRODUCER_IDS,
}
"""What the active controller holds in memory until the entry is mended. All other kinds are read again by a watch of
their own, or are replaced."""


@dataclass(slots=True)
class CorruptEntries:
    """The corrupt entries that one reader of the store has seen: what is wrong by path, and the data of those that are
    quarantined."""

    problems: dict[str, str] = field(default_factory=dict)
    quarantined: dict[str, bytes | None] = field(default_factory=dict)

    def read(
        self, kind: EntryKind, path: str, data: bytes | None, decode: Callable[[str, bytes | None], T], default: D
    ) -> T | D:
        """The decoded entry, or `default` if it is corrupt. A problem is logged once, until the entry is readable or
        has another problem."""
        logged = self.problems.get(path)
        value = self.collect(kind, path, data, decode, default)
        problem = self.problems.get(path)
        if problem is not None and problem != logged:
            _report(kind, problem)
        return value

    def collect(
        self, kind: EntryKind, path: str, data: bytes | None, decode: Callable[[str, bytes | None], T], default: D
    ) -> T | D:
        """The same without a log message: the caller logs several problems as one, with `add`."""
        try:
            value = decode(path, data)
        except BadEntry as error:
            self.problems[path] = str(error)
            if kind in _QUARANTINED:
                self.quarantined[path] = data
            return default
        self.problems.pop(path, None)
        self.quarantined.pop(path, None)
        return value

    def add(self, kind: EntryKind, collected: CorruptEntries, description: str) -> None:
        """Take over entries that were collected, and log them as one."""
        self.problems |= collected.problems
        self.quarantined |= collected.quarantined
        _report(kind, description)


def readable(decode: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The decoded entry, None if it is corrupt. For a reader beside the one that reports the entry."""
    try:
        return decode(*args, **kwargs)
    except BadEntry:
        return None


async def are_mended(store: MetadataStore, quarantined: Mapping[str, bytes | None]) -> bool:
    """Whether any of these entries was changed or deleted since it was read. It may be corrupt in another way. Reads
    from the store; StoreError."""
    for path, data in quarantined.items():
        entry = await store.read(path)
        if entry is None or entry.data != data:
            return True
    return False


def _report(kind: EntryKind, problem: str) -> None:
    log.error("Corrupt metadata entry, %s: %s", kind.value, problem)
