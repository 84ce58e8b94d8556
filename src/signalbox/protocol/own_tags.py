"""Signalbox's own tagged fields in Kafka's messages: Kafka's readers skip them, and Kafka's schemas have no field for
them.

They are not in the message tables, which are Kafka's. On the wire they are unknown tags, with numbers far above those
that Kafka assigns. A reader uses the default if a tag is missing.

| struct | tag | what |
|---|---|---|
| LeaderAndIsrRequest.LeaderAndIsrPartitionState | UNCLEAN_EPOCH | leader epoch of the last unclean election (-1) |
| LeaderAndIsrResponse.LeaderAndIsrPartitionError | LOG_END | last leader epoch and end of the log; end -1: none |
| UpdateMetadataRequest.UpdateMetadataPartitionState | OFFLINE_REASON | why it has no leader ("") |
| DescribeTopicPartitionsResponse....Partition | OFFLINE_REASON | the same, for clients |
| DescribeClusterResponse | ACTIVE_CONTROLLER | node id of the active controller (-1) |
"""

from __future__ import annotations

import struct
from typing import Protocol

UNCLEAN_EPOCH = 10_000
LOG_END = 10_001
OFFLINE_REASON = 10_002
ACTIVE_CONTROLLER = 10_003

_NODE_ID = struct.Struct(">i")
_EPOCH = struct.Struct(">i")
_EPOCH_AND_OFFSET = struct.Struct(">iq")


class Tagged(Protocol):
    """A struct of a message."""

    unknown_tags: dict[int, bytes] | None


def _put(holder: Tagged, tag: int, data: bytes) -> None:
    holder.unknown_tags = {**(holder.unknown_tags or {}), tag: data}


def _get(holder: Tagged, tag: int) -> bytes | None:
    return None if holder.unknown_tags is None else holder.unknown_tags.get(tag)


def put_unclean_epoch(holder: Tagged, leader_epoch: int) -> None:
    """Writes no tag for -1, the default."""
    if leader_epoch >= 0:
        _put(holder, UNCLEAN_EPOCH, _EPOCH.pack(leader_epoch))


def unclean_epoch(holder: Tagged) -> int:
    """The leader epoch; -1 if the tag is missing or malformed."""
    data = _get(holder, UNCLEAN_EPOCH)
    return _EPOCH.unpack(data)[0] if data is not None and len(data) == _EPOCH.size else -1


def put_log_end(holder: Tagged, last_leader_epoch: int, end_offset: int) -> None:
    """Writes the end of a log; an end offset of -1 means that there is no log."""
    _put(holder, LOG_END, _EPOCH_AND_OFFSET.pack(last_leader_epoch, end_offset))


def log_end(holder: Tagged) -> tuple[int, int] | None:
    """(last leader epoch, end offset); None if the tag is missing or malformed."""
    data = _get(holder, LOG_END)
    if data is None or len(data) != _EPOCH_AND_OFFSET.size:
        return None
    last_leader_epoch, end_offset = _EPOCH_AND_OFFSET.unpack(data)
    return last_leader_epoch, end_offset


def put_active_controller(holder: Tagged, node_id: int) -> None:
    """Writes no tag for -1, the default."""
    if node_id >= 0:
        _put(holder, ACTIVE_CONTROLLER, _NODE_ID.pack(node_id))


def active_controller(holder: Tagged) -> int:
    """The node id; -1 if the tag is missing or malformed."""
    data = _get(holder, ACTIVE_CONTROLLER)
    return _NODE_ID.unpack(data)[0] if data is not None and len(data) == _NODE_ID.size else -1


def put_offline_reason(holder: Tagged, reason: str) -> None:
    """Writes no tag for "", the default."""
    if reason:
        _put(holder, OFFLINE_REASON, reason.encode())


def offline_reason(holder: Tagged) -> str:
    """The reason; "" if the tag is missing."""
    data = _get(holder, OFFLINE_REASON)
    return "" if data is None else data.decode(errors="replace")
