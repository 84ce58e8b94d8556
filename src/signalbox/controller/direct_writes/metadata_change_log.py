"""`/signalbox_shared_changes`: puts the changes of entries that several brokers may write into one order (SPEC F17),
and the commits that write it.

Below the gate every broker makes direct metadata writes (configs, ACLs and the like), while the active controller has
these entries in memory. So every commit that changes such entries also writes this one, with the version that the
writer last read: of two concurrent writers one is rejected, reads again and decides again. The entry's data names the
changed paths by version, so that the controller reads only those. Kafka has no such entry and does not read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from signalbox.metadata import layout
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.json_text import BadEntry, decode_json, encode_json
from signalbox.metadata.store.port import CommitRejected, Entry, Fence, MetadataStore, Operation, VersionConflict, Write

MAX_NAMED_BYTES = 32_768  # of paths with their JSON syntax; a reader that missed more reads all entries
_AROUND_BYTES = 24

_SHARED = (
    f"{layout.CONFIG}/",
    f"{layout.ACLS}/",
    f"{layout.PREFIXED_ACLS}/",
    f"{layout.DELEGATION_TOKENS}/",
)
_NOTIFICATIONS = (f"{layout.CONFIG_CHANGES}/",)


@dataclass(frozen=True, slots=True)
class MetadataChangeLog:
    """The entry at one moment. `named` has (version, path) of each change, oldest first."""

    version: int = 0
    named: tuple[tuple[int, str], ...] = ()

    def since(self, version: int) -> list[tuple[int, str]] | None:
        """The changes after `version`; None when the entry does not have all of them any more."""
        found = [(number, path) for number, path in self.named if number > version]
        known = version >= self.version or (bool(found) and found[0][0] == version + 1)
        return found if known else None

    def followed_by(self, paths: Iterable[str]) -> MetadataChangeLog:
        """The entry after one more commit, which changed `paths`."""
        number = self.version + 1
        named = [*self.named, *((number, path) for path in paths)]
        sizes = accumulate(len(path.encode()) + _AROUND_BYTES for _, path in reversed(named))
        kept = sum(1 for size_bytes in sizes if size_bytes <= MAX_NAMED_BYTES)
        if kept < len(named):
            # Keep all changes of a version or none: some of them would look like all of them.
            half = named[-kept - 1][0]
            named = [each for each in named if each[0] > half]
        return MetadataChangeLog(number, tuple(named))

    def operation(self) -> Operation:
        """The operation that stores this value; rejected if another broker has written the entry meanwhile."""
        data = encode_json({"version": 1, "changed": [list(each) for each in self.named]})
        return Write(layout.SHARED_CHANGES, data, self.version - 1)


async def read_change_log(store: MetadataStore) -> MetadataChangeLog:
    """The metadata change log as it is stored. StoreError."""
    return decode_shared_changes(await store.read(layout.SHARED_CHANGES))


def decode_shared_changes(entry: Entry | None) -> MetadataChangeLog:
    """The change log in the entry, which is one of the roots of the layout and empty at first. A corrupt entry names no
    changes; its version still counts, since the store keeps it."""
    if entry is None or entry.data is None:
        return MetadataChangeLog(entry.version if entry is not None else 0)
    named = CorruptEntries().read(EntryKind.CHANGE_LOG, layout.SHARED_CHANGES, entry.data, _changes, ())
    return MetadataChangeLog(entry.version, named)


def _changes(path: str, data: bytes | None) -> tuple[tuple[int, str], ...]:
    payload = decode_json(data, path)
    try:
        return tuple((int(number), str(changed)) for number, changed in payload["changed"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{path} is no list of changes: {error!r}") from error


def shared_paths(operations: Iterable[Operation]) -> list[str]:
    """The paths of changed entries that several brokers may write, those of new topics included."""
    return [operation.path for operation in operations if is_shared(operation)]


def is_shared(operation: Operation) -> bool:
    """Whether the operation changes an entry that several brokers may write."""
    path = operation.path
    if path.startswith(f"{layout.TOPICS}/"):
        return path.count("/") == layout.TOPICS.count("/") + 1
    return path.startswith(_SHARED) and not path.startswith(_NOTIFICATIONS)


class ConcurrentMetadataUpdate(CommitRejected):
    """Another broker has stored a change since the writer read: nothing of this commit was applied."""


async def commit_shared(
    store: MetadataStore,
    operations: Sequence[Operation],
    fence: Fence,
    seen: MetadataChangeLog,
    paths_to_read: Iterable[str] = (),
) -> MetadataChangeLog:
    """Commit, unless another writer changed the metadata change log since `seen`; returns the log after the commit.
    `paths_to_read`: the paths that the controller has to read; none if it is the writer itself. Operations on
    other entries only are committed without the log. Raises the store's errors and ConcurrentMetadataUpdate."""
    if not any(map(is_shared, operations)):
        await store.commit(operations, fence)
        return seen
    after = seen.followed_by(paths_to_read)
    try:
        await store.commit([after.operation(), *operations], fence)
    except VersionConflict as conflict:
        if conflict.path == layout.SHARED_CHANGES:
            raise ConcurrentMetadataUpdate(conflict.path, "another broker has stored a change") from conflict
        raise
    return after


async def commit_by_controller(
    store: MetadataStore, operations: Sequence[Operation], fence: Fence, shared_version: int
) -> int:
    """`commit_shared` for the controller, whose context has the change log up to `shared_version`; returns the version
    after the commit. The log names no paths: no other node has to read what the controller decides."""
    return (await commit_shared(store, operations, fence, MetadataChangeLog(shared_version))).version


def reject_older_decisions(operations: Iterable[Operation]) -> None:
    """Raise ConcurrentMetadataUpdate if one of these operations, decided before the controller applied direct metadata
    writes of brokers, would overwrite them: the commit checks the version of the last decision only."""
    if any(map(is_shared, operations)):
        raise ConcurrentMetadataUpdate(layout.SHARED_CHANGES, "decisions of this batch are older than a change")
