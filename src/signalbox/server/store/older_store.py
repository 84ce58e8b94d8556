"""`signalbox store accept-older`: a broker accepts a metadata store that is older than its logs (decision 0028).

The epochs in the store are raised above all that this broker has seen, and the producer ids above all that were handed
out. The store continues as a new incarnation, which the log directories record. The logs stay unchanged, also those of
topics that the store does not have. The clean-shutdown marker is removed, so that the next start recovers the logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from signalbox.common.clock import SystemClock
from signalbox.common.ids import ZERO_UUID, StorePosition, TopicPartition, uuid_text
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store, reject_unfinished_copy, store_setting
from signalbox.metadata.backup.store_incarnation import StoreHistory, read_history
from signalbox.metadata.backup.stored_epochs import EPOCH_STEP, raised_epochs
from signalbox.metadata.entries.cluster_id import read_cluster_id
from signalbox.metadata.entries.controller_claim import encode_controller_epoch
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.producer_id_block import above_later_blocks
from signalbox.metadata.entries.topic_assignment import decode_topic_assignment
from signalbox.metadata.layout import (
    BROKER_IDS,
    CONTROLLER_EPOCH,
    CONTROLLER_IDS,
    PRODUCER_ID_BLOCK,
    TOPICS,
    topic_path,
)
from signalbox.metadata.store.port import Create, Entry, MetadataStore, Operation, StoreError, Write, in_commits
from signalbox.server.store.store_guard import log_dirs
from signalbox.storage.directories.log_directory import LogDirectory, read_and_remove_marker
from signalbox.storage.directories.meta_properties import check_owner, read_meta_properties
from signalbox.storage.directories.partition_folders import PartitionFolder, partition_folders
from signalbox.storage.directories.store_position_file import read_store_position, write_store_position
from signalbox.storage.files.background import InlineBackground
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk

_OPERATIONS_PER_COMMIT = 500


class NotAccepted(RuntimeError):
    """The store was not accepted, and nothing was changed; the message gives the reason."""


ACCEPT_ERRORS = (OSError, RuntimeError, StoreError, ValueError)
"""Errors that `accept_older` raises; each message says what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class _Broker:
    """The contents of a stopped broker's log directories."""

    positions: Sequence[StorePosition]
    folders: Sequence[PartitionFolder]


async def accept_older(config: NodeConfig, dry_run: bool = False) -> list[str]:
    """Returns what was done (or would be), line by line. ACCEPT_ERRORS if a broker runs, or if it is another cluster's
    store."""
    with ExitStack() as locked:
        directories = [_locked(path, locked) for path in log_dirs(config)]
        store = await open_store(config.values, SystemClock())
        try:
            await reject_unfinished_copy(store, config.values)
            return await _accept(store, config, directories, dry_run)
        finally:
            await store.close()


async def _accept(
    store: MetadataStore, config: NodeConfig, directories: Sequence[LogDirectory], dry_run: bool
) -> list[str]:
    cluster_id = await read_cluster_id(store)
    if cluster_id is None:
        raise NotAccepted(f"{store_setting(config.values)[1]} holds no cluster: it has no /cluster/id")
    broker = _read(directories, cluster_id, config.node_id)
    history, topics = await read_history(store), await store.read_tree(TOPICS)
    name = f"broker {config.node_id}"
    lacking = [position for position in broker.positions if history.lacks(position)]
    if not lacking:
        return [f"{name}: the store is not older than its logs ({history.position}): nothing to accept"]
    is_cut = history.position.incarnation in {position.incarnation for position in lacking}
    step = EPOCH_STEP if is_cut else 0  # also above the epochs that brokers not yet accepted have seen
    states = list(raised_epochs(topics, _epochs(broker.folders, topics), step))
    accepted, operations = await _continued(store, history, broker.positions, step)
    if not dry_run:
        if states or operations:
            await _reject_live_nodes(store)
        for part in in_commits(states, store.max_commit_bytes, _OPERATIONS_PER_COMMIT):
            await store.commit(part)
        if operations:
            await store.commit(operations)
        for directory in directories:
            read_and_remove_marker(directory.disk.file_system, directory.path)
            write_store_position(directory.disk.file_system, directory.path, accepted.position)
    verb = "would be" if dry_run else "is"
    return [
        f"{name}: the store at {history.position} {verb} accepted as {accepted.position};"
        f" {len(states)} leader epochs raised",
        *_without_entry(broker.folders, topics),
    ]


async def _continued(
    store: MetadataStore, history: StoreHistory, positions: Iterable[StorePosition], step: int
) -> tuple[StoreHistory, list[Operation]]:
    """Returns a history whose epochs are above all of `seen`, and the operations that store it; none if the present
    history already is."""
    highest = max(position.controller_epoch for position in positions)
    reached = history.position.controller_epoch
    if not step and highest < reached:
        return history, []
    epoch = max(highest, reached) + max(step, 1)
    entry = await store.read(CONTROLLER_EPOCH)
    data = encode_controller_epoch(epoch)
    raised = Create(CONTROLLER_EPOCH, data) if entry is None else Write(CONTROLLER_EPOCH, data, entry.version)
    forked = history.forked(epoch)
    return forked, [raised, await _above_later_producer_ids(store), forked.write()]


async def _above_later_producer_ids(store: MetadataStore) -> Operation:
    entry = await store.read(PRODUCER_ID_BLOCK)
    if entry is None:
        return Create(PRODUCER_ID_BLOCK, above_later_blocks(None))
    return Write(PRODUCER_ID_BLOCK, above_later_blocks(entry.data), entry.version)


def _read(directories: Iterable[LogDirectory], cluster_id: str, node_id: int) -> _Broker:
    positions, folders = [], list[PartitionFolder]()
    for directory in directories:
        meta = read_meta_properties(directory.path)
        if meta is not None:
            check_owner(directory.path, meta, cluster_id, node_id)
        position = read_store_position(directory.path)
        if position is not None:
            positions.append(position)
        folders += partition_folders(directory.path)
    return _Broker(positions, folders)


def _locked(path: str, locked: ExitStack) -> LogDirectory:
    directory = LogDirectory(path, Disk(RealFileSystem(), OpenFiles()), InlineBackground(), SystemClock())
    directory.lock()
    locked.callback(directory.unlock)
    return directory


async def _reject_live_nodes(store: MetadataStore) -> None:
    for root, kind in ((BROKER_IDS, "brokers"), (CONTROLLER_IDS, "controllers")):
        if present := await store.children(root):
            raise NotAccepted(
                f"the store has live {kind} ({', '.join(present)}): stop the whole cluster first; nothing was changed."
                " A killed one is removed when its session expires"
            )


def _epochs(folders: Iterable[PartitionFolder], topics: dict[str, Entry]) -> dict[TopicPartition, int]:
    """The highest leader epoch in this broker's logs, for each partition that the store has."""
    return {folder.topic_partition: folder.leader_epoch for folder in folders if _has_entry(folder, topics)}


def _without_entry(folders: Iterable[PartitionFolder], topics: dict[str, Entry]) -> list[str]:
    """A line for each topic that has folders but no entry."""
    folders_by_topic: dict[tuple[str, bytes], list[str]] = {}
    for folder in folders:
        if not _has_entry(folder, topics):
            folders_by_topic.setdefault((folder.topic_partition.topic, folder.topic_id), []).append(folder.path)
    return [
        f"topic {topic} (topic id {uuid_text(topic_id)}) has no entry in the store, its folders are kept:"
        f" {', '.join(paths)}. Move them out of the log directory before a topic of this name is created again"
        for (topic, topic_id), paths in sorted(folders_by_topic.items())
    ]


def _has_entry(folder: PartitionFolder, topics: dict[str, Entry]) -> bool:
    topic = folder.topic_partition.topic
    entry = topics.get(topic_path(topic))
    if entry is None:
        return False
    assignment = readable(decode_topic_assignment, topic, entry.data)
    if assignment is None:
        return True  # quarantined: it is unknown whether it is the same topic
    return ZERO_UUID in (assignment.topic_id, folder.topic_id) or assignment.topic_id == folder.topic_id
