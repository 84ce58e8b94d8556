"""Copies a cluster's metadata from one store to another: verified, and safe to repeat after an interruption.

The cluster must be stopped. Permanent entries are copied; entries of a session (registrations, the controller) and
change notifications, which only running brokers read, are not. Until the copy is complete the target has a mark, and no
broker starts on a store with that mark. Versions of entries start at 0 in the target; brokers read them at their start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from signalbox.metadata import layout
from signalbox.metadata.entries.cluster_id import read_cluster_id
from signalbox.metadata.entries.json_text import decode_json, encode_json
from signalbox.metadata.store.port import (
    ROOT,
    Create,
    Delete,
    Entry,
    MetadataStore,
    Operation,
    Write,
    in_commits,
)

_OPERATIONS_PER_COMMIT = 500
# Below these are only notifications, which a starting broker does not read.
_NOTIFICATIONS = (
    layout.CONFIG_CHANGES,
    layout.ACL_CHANGES,
    layout.EXTENDED_ACL_CHANGES,
    layout.ISR_CHANGES,
    layout.LOG_DIR_EVENTS,
    layout.TOKEN_CHANGES,
)

Progress = Callable[[int, int], None]  # entries done, total entries


class CopyRejected(Exception):
    """Nothing was copied, or the copy is not complete; the text names the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The result of a copy. `to_write` counts the entries that differed in the target: missing, other or surplus."""

    cluster_id: str
    entries: int
    to_write: int


async def copy_store(
    source: MetadataStore, target: MetadataStore, progress: Progress = lambda done, all_: None, dry_run: bool = False
) -> CopyReport:
    """Copy the entries of the source to the target. CopyRejected, StoreError."""
    cluster_id = await read_cluster_id(source)
    if cluster_id is None:
        raise CopyRejected("the source holds no cluster: it has no /cluster/id")
    for name, store in (("source", source), ("target", target)):
        for root, kind in ((layout.BROKER_IDS, "brokers"), (layout.CONTROLLER_IDS, "controllers")):
            if present := await store.children(root):
                raise CopyRejected(f"the {name} has live {kind} ({', '.join(present)}): stop the whole cluster first")
    wanted = lasting(await source.read_tree(ROOT))
    await _reject_foreign(target, cluster_id, wanted)
    operations = list(_operations(wanted, lasting(await target.read_tree(ROOT))))
    report = CopyReport(cluster_id, len(wanted), len(operations))
    if dry_run or not operations:
        return report
    if await target.read(layout.UNFINISHED_COPY) is None:
        await target.commit([Create(layout.UNFINISHED_COPY, encode_json({"version": 1, "cluster_id": cluster_id}))])
    done = 0
    progress(done, len(operations))
    for part in in_commits(operations, target.max_commit_bytes, _OPERATIONS_PER_COMMIT):
        await target.commit(part)
        done += len(part)
        progress(done, len(operations))
    await _check(source, target, wanted)
    await target.commit([Delete(layout.UNFINISHED_COPY)])
    return report


def lasting(tree: Mapping[str, Entry]) -> dict[str, bytes | None]:
    """Path and data of the entries that are copied, parents first."""
    return {
        path: entry.data
        for path, entry in sorted(tree.items())
        if path not in (ROOT, layout.UNFINISHED_COPY)
        and not entry.session_id
        and not any(path.startswith(folder + "/") for folder in _NOTIFICATIONS)
    }


async def _reject_foreign(target: MetadataStore, cluster_id: str, wanted: Mapping[str, bytes | None]) -> None:
    """Accepts an empty target, one with an unfinished copy of this cluster, or an identical one; rejects all others."""
    mark = await target.read(layout.UNFINISHED_COPY)
    if mark is not None:
        begun = decode_json(mark.data, layout.UNFINISHED_COPY).get("cluster_id")
        if begun != cluster_id:
            raise CopyRejected(f"the target holds an unfinished copy of another cluster, {begun}: name an empty store")
        return
    present = lasting(await target.read_tree(ROOT))
    if present == wanted:
        return
    if any(data for data in present.values()) or present.keys() - set(layout.ROOTS):
        other = await read_cluster_id(target)
        raise CopyRejected(f"the target is not empty (it holds the cluster {other}): name an empty store")


def _operations(wanted: Mapping[str, bytes | None], present: Mapping[str, bytes | None]) -> Iterator[Operation]:
    for path, data in wanted.items():
        if path not in present:
            yield Create(path, data)
        elif present[path] != data:
            yield Write(path, data)
    # Entries that were deleted in the source since an unfinished copy: children first.
    for path in sorted(present.keys() - wanted.keys(), reverse=True):
        yield Delete(path)


async def _check(source: MetadataStore, target: MetadataStore, wanted: Mapping[str, bytes | None]) -> None:
    if lasting(await source.read_tree(ROOT)) != wanted:
        raise CopyRejected("the source changed meanwhile: stop whatever writes to it, and run the copy again")
    if lasting(await target.read_tree(ROOT)) != wanted:
        raise CopyRejected("the target does not hold what was written: stop whatever writes to it, and run it again")
