"""Names on disk, as in Kafka: partition folders, segment files, suffixes.

A partition is in the folder `<topic>-<partition>`; one that is being deleted in `<topic>-<partition>.<32 hex>-delete`,
one that is being moved into this log directory in `...-future`. Segment files have their base offset in 20 digits in
their name (snapshots: the offset of their state).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterable

from signalbox.common.ids import TopicPartition

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"  # of a compacted segment that is being written
SWAP_SUFFIX = ".swap"  # of a compacted segment that is complete and replaces others
DELETED_FOLDER_SUFFIX = "-delete"
FUTURE_FOLDER_SUFFIX = "-future"
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE = "partition.metadata"
META_PROPERTIES_FILE = "meta.properties"
STORE_POSITION_FILE = "metadata-store.properties"  # Signalbox only: Kafka's brokers do not read such a file
RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE = "cleaner-offset-checkpoint"
GAP_OFFSET_FILE = "gap-offset-checkpoint"  # Signalbox only
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"

_MAX_NAME_LENGTH = 255
_MAX_SUFFIX_LENGTH = max(
    len(f".{uuid.UUID(int=0).hex}{suffix}") for suffix in (DELETED_FOLDER_SUFFIX, FUTURE_FOLDER_SUFFIX)
)


def offset_name(offset: int, suffix: str) -> str:
    """File names like `00000000000000000042.log`."""
    return f"{offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in a file name that ends in `suffix`; None for any other name."""
    digits = name.removesuffix(suffix)
    if digits == name or len(digits) != 20 or not digits.isdecimal():
        return None
    return int(digits)


def partition_of(folder_name: str) -> TopicPartition | None:
    """The partition of a folder; None if it is not the folder of a partition."""
    topic, dash, number = folder_name.rpartition("-")
    if not (topic and dash and number.isdecimal()):
        return None
    return TopicPartition(topic, int(number))


def deleted_folder_name(topic_partition: TopicPartition) -> str:
    """A unique name for the folder of a partition that is being deleted; a topic name that is too long is cut."""
    return _folder_name(topic_partition, DELETED_FOLDER_SUFFIX)


def future_folder_name(topic_partition: TopicPartition) -> str:
    """A unique name for the folder of a partition that is not complete yet; cut in the same way."""
    return _folder_name(topic_partition, FUTURE_FOLDER_SUFFIX)


def lost_partitions(checkpointed: Iterable[TopicPartition], names: Collection[str]) -> list[TopicPartition]:
    """The partitions of a log directory's checkpoints that have no folder among `names`, sorted. A partition that is
    being deleted is not lost: its folder is renamed first, its line leaves the checkpoints a moment later."""
    existing = set(names)
    deleted = {name.rpartition(".")[0] for name in names if name.endswith(DELETED_FOLDER_SUFFIX)}
    return sorted(
        partition for partition in checkpointed if str(partition) not in existing and _stem(partition) not in deleted
    )


def _folder_name(topic_partition: TopicPartition, suffix: str) -> str:
    return f"{_stem(topic_partition)}.{uuid.uuid4().hex}{suffix}"


def _stem(topic_partition: TopicPartition) -> str:
    """The partition's name, cut so that the longest suffix fits behind it."""
    number = f"-{topic_partition.partition}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(number) - _MAX_SUFFIX_LENGTH] + number


def offsets_in(folder: str, suffix: str) -> list[int]:
    """The offsets of all files of one kind in a folder, ascending."""
    offsets = (offset_of(name, suffix) for name in os.listdir(folder))
    return sorted(offset for offset in offsets if offset is not None)
