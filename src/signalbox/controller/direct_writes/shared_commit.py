"""Commits of metadata that several brokers may write, in one order (SPEC F17; `metadata_change_log.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from signalbox.controller.direct_writes.metadata_change_log import MetadataChangeLog, is_shared
from signalbox.metadata import layout
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
