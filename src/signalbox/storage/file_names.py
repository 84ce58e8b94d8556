"""Names on disk, as Kafka gives them: partition folders, segment files, suffixes.

A partition lives in `<topic>-<partition>`; one that is being deleted in `<topic>-<partition>.<32 hex>-delete`,
one that is being moved here in `...-future`.
Segment files carry their base offset (snapshots: the offset they were taken at) in 20 digits.
"""

from __future__ import annotations

import os
import uuid

from signalbox.common.ids import TopicPartition

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
DELETED_FOLDER_SUFFIX = "-delete"
FUTURE_FOLDER_SUFFIX = "-future"
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE = "partition.metadata"
META_PROPERTIES_FILE = "meta.properties"
RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_FILE = "replication-offset-checkpoint"
LOG_START_OFFSET_FILE = "log-start-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"

_MAX_NAME_LENGTH = 255


def offset_name(offset: int, suffix: str) -> str:
    """`00000000000000000042.log` and its like."""
    return f"{offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in a file name that ends in `suffix`; None for any other name."""
    digits = name.removesuffix(suffix)
    if digits == name or len(digits) != 20 or not digits.isdecimal():
        return None
    return int(digits)


def partition_of(folder_name: str) -> TopicPartition | None:
    """The partition a folder belongs to; None when the folder is no partition's."""
    topic, dash, number = folder_name.rpartition("-")
    if not (topic and dash and number.isdecimal()):
        return None
    return TopicPartition(topic, int(number))


def deleted_folder_name(topic_partition: TopicPartition) -> str:
    """A name of its own for a partition on its way out; the topic is cut when the name would be too long."""
    return _folder_name(topic_partition, DELETED_FOLDER_SUFFIX)


def future_folder_name(topic_partition: TopicPartition) -> str:
    """A name of its own for a partition that is not wholly there yet; cut in the same way."""
    return _folder_name(topic_partition, FUTURE_FOLDER_SUFFIX)


def _folder_name(topic_partition: TopicPartition, suffix: str) -> str:
    tail = f"-{topic_partition.partition}.{uuid.uuid4().hex}{suffix}"
    return topic_partition.topic[: _MAX_NAME_LENGTH - len(tail)] + tail


def offsets_in(folder: str, suffix: str) -> list[int]:
    """The offsets of all files of one kind in a folder, ascending."""
    found = (offset_of(name, suffix) for name in os.listdir(folder))
    return sorted(offset for offset in found if offset is not None)
