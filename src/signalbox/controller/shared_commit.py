"""A commit in the order of all that more than one broker may write (SPEC F17; `metadata/shared_changes.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from signalbox.metadata import layout
from signalbox.metadata.shared_changes import SharedChanges, is_shared
from signalbox.metadata.store.port import CommitRefused, Fence, MetadataStore, Operation, VersionConflict


class SharedMoved(CommitRefused):
    """Another broker has stored something since the writer looked: nothing of this commit was applied."""


async def commit_shared(
    store: MetadataStore,
    operations: Sequence[Operation],
    fence: Fence,
    seen: SharedChanges,
    told: Iterable[str] = (),
) -> SharedChanges:
    """Commit, if nobody changed what is shared since `seen`; the shared changes as they are then. `told` are the paths
    that the controller has to read: none when it is the writer. Operations on other entries are just committed.
    Raises the store's errors and SharedMoved."""
    if not any(map(is_shared, operations)):
        await store.commit(operations, fence)
        return seen
    after = seen.followed_by(told)
    try:
        await store.commit([after.operation(), *operations], fence)
    except VersionConflict as conflict:
        if conflict.path == layout.SHARED_CHANGES:
            raise SharedMoved(conflict.path, "another broker has changed something") from conflict
        raise
    return after
