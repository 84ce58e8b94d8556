"""Commits of metadata that several brokers may write, in one order (SPEC F17; `metadata/metadata_change_log.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from signalbox.metadata import layout
from signalbox.metadata.metadata_change_log import MetadataChangeLog, is_shared
from signalbox.metadata.store.port import CommitRejected, Fence, MetadataStore, Operation, VersionConflict


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
