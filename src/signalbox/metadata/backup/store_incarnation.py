"""`/signalbox_store_incarnation`: the incarnation (history) of the metadata in a store, and its generation (age).

    {"version":1,"incarnation":"<uuid>","generation":12,
     "earlier":[{"incarnation":"<uuid>","generation":9,"controller_epoch":4}]}

Kafka has no such entry and does not read it. The first broker creates it. Every broker advances the generation at its
start, at each change of the controller, twice a minute and at its clean shutdown, and stores the position in its log
directories. A store that was replaced by an older copy has the same incarnation at a lower position. A store that was
accepted as older (`signalbox store accept-older`) or restored from a backup continues as a new incarnation, which names
the earlier ones with the last position that it shares with each; null: all of that incarnation was accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from signalbox.common.ids import UNKNOWN_CONTROLLER_EPOCH, StorePosition, new_uuid, uuid_text
from signalbox.metadata.entries.controller_claim import read_controller_epoch
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind, readable
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json, whole_number
from signalbox.metadata.layout import STORE_INCARNATION
from signalbox.metadata.store.port import CommitRejected, Create, MetadataStore, Operation, Write

_VERSION = 1
_ALL = 2**63 - 1  # the position of an earlier incarnation that was accepted completely


@dataclass(frozen=True, slots=True)
class StoreHistory:
    """The history in a store. `earlier`: by incarnation, the position up to which its history is part of this one.
    `entry_version` is None when the entry does not exist."""

    position: StorePosition
    earlier: Mapping[str, StorePosition]
    entry_version: int | None = None

    def lacks(self, seen: StorePosition) -> bool:
        """Whether the store lacks changes that were made up to the position `seen`."""
        reached = self.position if seen.incarnation == self.position.incarnation else self.earlier.get(seen.incarnation)
        if reached is None:
            return True
        if reached.generation < seen.generation:
            return True
        return UNKNOWN_CONTROLLER_EPOCH != reached.controller_epoch < seen.controller_epoch

    def advanced(self) -> StoreHistory:
        """The same history, one generation further."""
        at = self.position
        return StoreHistory(
            StorePosition(at.incarnation, at.generation + 1, at.controller_epoch), self.earlier, self.entry_version
        )

    def forked(self, controller_epoch: int) -> StoreHistory:
        """A new incarnation that continues from this position, with a raised controller epoch."""
        at = self.position
        position = StorePosition(uuid_text(new_uuid()), at.generation + 1, controller_epoch)
        return StoreHistory(position, {**self.earlier, at.incarnation: at}, self.entry_version)

    def write(self) -> Operation:
        """The operation that stores the history; rejected when the entry has changed since it was read."""
        data = encode_history(self)
        if self.entry_version is None:
            return Create(STORE_INCARNATION, data)
        return Write(STORE_INCARNATION, data, self.entry_version)


async def read_history(store: MetadataStore) -> StoreHistory:
    """The store's history; without an entry, or with a corrupt one, a new incarnation at generation 0, which is not
    stored yet. StoreError."""
    controller_epoch = await read_controller_epoch(store)
    if controller_epoch is None:
        controller_epoch = UNKNOWN_CONTROLLER_EPOCH  # the next controller determines it again
    entry = await store.read(STORE_INCARNATION)
    if entry is not None:
        decode = partial(_history, entry.version, controller_epoch)
        history = CorruptEntries().read(EntryKind.STORE_INCARNATION, STORE_INCARNATION, entry.data, decode, None)
        if history is not None:
            return history
    position = StorePosition(uuid_text(new_uuid()), 0, controller_epoch)
    return StoreHistory(position, {}, None if entry is None else entry.version)


async def advance(store: MetadataStore, history: StoreHistory) -> StorePosition | None:
    """Store the history one generation further and return the new position; None when another broker wrote first: read
    again. StoreError."""
    further = history.advanced()
    try:
        await store.commit([further.write()])
    except CommitRejected:
        return None
    return further.position


def restored(data: bytes | None, incarnation: str) -> bytes | None:
    """The entry that a restore writes for that of a backup: a new incarnation that has accepted all of the old one."""
    history = readable(decode_history, data, 0, 0)
    if history is None:
        return data
    everything = StorePosition(history.position.incarnation, _ALL, _ALL)
    position = StorePosition(incarnation, history.position.generation + 1, 0)
    return encode_history(StoreHistory(position, {**history.earlier, everything.incarnation: everything}))


def decode_history(data: bytes | None, entry_version: int, controller_epoch: int) -> StoreHistory:
    """The history in an entry. BadEntry names the fault."""
    payload = decode_json(data, STORE_INCARNATION)
    try:
        position = StorePosition(_id(payload), whole_number(payload["generation"]), controller_epoch)
        earlier = {_id(row): StorePosition(_id(row), *_reached(row)) for row in payload.get("earlier", ())}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{STORE_INCARNATION} holds no incarnation: {error!r}") from error
    return StoreHistory(position, earlier, entry_version)


def _history(entry_version: int, controller_epoch: int, path: str, data: bytes | None) -> StoreHistory:
    return decode_history(data, entry_version, controller_epoch)


def encode_history(history: StoreHistory) -> bytes:
    """The entry's JSON."""
    earlier = [
        {
            "incarnation": each.incarnation,
            "generation": _or_null(each.generation),
            "controller_epoch": _or_null(each.controller_epoch),
        }
        for each in history.earlier.values()
    ]
    at = history.position
    return encode_json(
        {"version": _VERSION, "incarnation": at.incarnation, "generation": at.generation, "earlier": earlier}
    )


def _id(row: Mapping[str, Any]) -> str:
    incarnation = row["incarnation"]
    if not isinstance(incarnation, str) or not incarnation:
        raise ValueError(f"{incarnation!r} is no id")
    return incarnation


def _reached(row: Mapping[str, Any]) -> tuple[int, int]:
    values = (row["generation"], row["controller_epoch"])
    generation, epoch = (_ALL if each is None else whole_number(each, UNKNOWN_CONTROLLER_EPOCH) for each in values)
    return generation, epoch


def _or_null(number: int) -> int | None:
    return None if number == _ALL else number
