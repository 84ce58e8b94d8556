"""Truncation offset of a follower whose log diverges from its leader's (KIP-101, KIP-279, KIP-595).

The leader returns the largest epoch that it knows and that is not above the follower's last one, and its end offset. If
the follower knows that epoch too, it truncates to the smaller of the two end offsets. If not, it truncates to the end
of its own largest epoch below and tries again: the next fetch starts there, with that epoch.

Below its own high watermark a follower keeps its log: those records were acknowledged, and a leader without them has
lost them. They are truncated only if that loss is accepted: the topic allows unclean elections, or the log's last epoch
is from before an unclean election (decision 0031).

Records that a new leader does not have are lost for the partition; the new leader logs their offsets.
"""

from __future__ import annotations

import logging
from typing import Protocol

from signalbox.common.ids import TopicPartition

_log = logging.getLogger(__name__)


class LossNotAccepted(Exception):
    """The leader's log lacks records below the follower's high watermark. The text says what to do."""


def check_truncation(log: EpochLog, offset: int, unclean_epoch: int, unclean_election_allowed: bool) -> None:
    """LossNotAccepted if the log must not be truncated to `offset`. `unclean_epoch` is the leader epoch of the
    partition's last unclean election, -1 for none."""
    if offset >= log.high_watermark or unclean_election_allowed or log.last_leader_epoch < unclean_epoch:
        return
    raise LossNotAccepted(
        f"not truncated below its high watermark (truncation offset={offset}, high watermark={log.high_watermark},"
        f" log end={log.log_end_offset}, last leader epoch={log.last_leader_epoch}): the leader has lost acknowledged"
        " records, and this replica keeps them and stays out of the ISR. Stop the brokers of the other replicas and run"
        " `signalbox topic elect --unclean` to make this replica the leader, or set unclean.leader.election.enable=true"
        " on the topic to give the records up"
    )


class ShortenedLog(Protocol):
    """`previous_high_watermark`: that of the last run if the log ends below it; 0 otherwise."""

    topic_partition: TopicPartition
    log_end_offset: int
    previous_high_watermark: int


def report_lost_records(log: ShortenedLog, leader_epoch: int, *, is_unclean: bool) -> None:
    """For a replica that becomes the leader: logs ERROR if its log ends below a high watermark that it knew, WARNING
    after an unclean election if that high watermark is unknown."""
    end_offset, high_watermark = log.log_end_offset, log.previous_high_watermark
    log.previous_high_watermark = 0
    if high_watermark > end_offset:
        _log.error(
            "Partition %s has lost acknowledged records (leader epoch=%d, log end offset=%d, high watermark before=%d,"
            " unclean election=%s): records from offset %d to %d are lost, unless a replica that is offline has them",
            log.topic_partition, leader_epoch, end_offset, high_watermark, is_unclean, end_offset, high_watermark - 1,
        )  # fmt: skip
    elif is_unclean:
        _log.warning(
            "Partition %s has a leader by unclean election (leader epoch=%d, log end offset=%d): records from offset %d"
            " on are lost, unless a replica that is offline has them",
            log.topic_partition, leader_epoch, end_offset, end_offset,
        )  # fmt: skip


class EpochLog(Protocol):
    """The part of a log that truncation needs."""

    log_end_offset: int

    @property
    def last_leader_epoch(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]: ...


def truncation_offset(log: EpochLog, leader_epoch: int, leader_end_offset: int) -> int:
    """The offset at which the follower's log must end. `leader_epoch` and `leader_end_offset` are the diverging epoch
    of a fetch response; end offset -1 means that the leader knows no such epoch: truncate to the high watermark."""
    end = log.log_end_offset
    if leader_end_offset < 0:
        return min(log.high_watermark, end)
    own_epoch, own_end = log.end_offset_for_epoch(leader_epoch)
    if own_end < 0:
        return min(leader_end_offset, end)
    if own_epoch != leader_epoch:
        return min(own_end, end)
    return min(own_end, leader_end_offset, end)
