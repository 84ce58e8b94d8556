"""Where a follower cuts its log when its leader says that the two diverge (KIP-101, KIP-279, KIP-595).

The leader names the largest epoch, not above the follower's last one, that it knows, and where that epoch ended. If the
follower knows that epoch too, everything behind the smaller of the two ends goes. If not, it goes back to the end of
its own largest epoch below and asks again: the next fetch starts there, with that epoch.
"""

from __future__ import annotations

from typing import Protocol


class EpochLog(Protocol):
    """What is needed of a log."""

    log_end_offset: int

    @property
    def high_watermark(self) -> int: ...

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]: ...


def truncation_offset(log: EpochLog, leader_epoch: int, leader_end_offset: int) -> int:
    """The offset at which the follower's log must end. `leader_epoch` and `leader_end_offset` are the diverging epoch
    of a fetch response; -1 as end offset means that the leader knows nothing: only what is committed stays."""
    end = log.log_end_offset
    if leader_end_offset < 0:
        return min(log.high_watermark, end)
    own_epoch, own_end = log.end_offset_for_epoch(leader_epoch)
    if own_end < 0:
        return min(leader_end_offset, end)
    if own_epoch != leader_epoch:
        return min(own_end, end)
    return min(own_end, leader_end_offset, end)
