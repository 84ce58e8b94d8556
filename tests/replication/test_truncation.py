"""Where a follower cuts its log, as a table, and that the question ends."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.replication.truncation import truncation_offset


@dataclass
class Epochs:
    """A log as its epochs: {epoch: start offset}."""

    starts: dict[int, int]
    log_end_offset: int
    high_watermark: int = 0

    @property
    def last_epoch(self) -> int:
        return max(self.starts, default=-1)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        if not self.starts or leader_epoch > self.last_epoch:
            return -1, -1
        known = [epoch for epoch in self.starts if epoch <= leader_epoch]
        later = [start for epoch, start in self.starts.items() if epoch > leader_epoch]
        end = min(later, default=self.log_end_offset)
        return (max(known), end) if known else (leader_epoch, min(self.starts.values()))

    def cut(self, offset: int) -> None:
        self.log_end_offset = min(offset, self.log_end_offset)
        self.starts = {epoch: start for epoch, start in self.starts.items() if start < self.log_end_offset}


# follower's epochs, its end, (epoch, end offset) of the leader, where it cuts
CASES = {
    "the leader's epoch ends earlier": ({0: 0, 1: 10}, 20, (1, 15), 15),
    "the follower's does": ({0: 0, 2: 10}, 20, (0, 15), 10),
    "the leader ends behind the follower": ({0: 0}, 20, (0, 30), 20),
    "an epoch the follower has not": ({0: 0, 3: 10}, 20, (2, 15), 10),
    "only epochs that the leader has not": ({3: 5}, 20, (2, 9), 5),
    "no epochs at all": ({}, 20, (2, 9), 9),
    "an epoch beyond the follower's": ({1: 0}, 20, (2, 25), 20),
    "the leader knows nothing": ({1: 0}, 20, (-1, -1), 7),
}


@pytest.mark.parametrize("name", CASES)
def test_cut(name: str) -> None:
    starts, end, (epoch, end_offset), expected = CASES[name]
    assert truncation_offset(Epochs(starts, end, high_watermark=7), epoch, end_offset) == expected


@st.composite
def diverging_logs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two logs as the epoch of each record. After a common beginning each was led by another broker: one may have
    gone on in the last common epoch, later epochs belong to one of them alone."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=5)))
    last = common[-1] if common else 0
    odd = sorted(draw(st.lists(st.sampled_from([last + 1, last + 3]), max_size=6)))
    even = sorted(draw(st.lists(st.sampled_from([last, last + 2, last + 4]), max_size=6)))
    logs = [common + odd, common + even]
    return (logs[0], logs[1]) if draw(st.booleans()) else (logs[1], logs[0])


def epochs_of(records: list[int]) -> Epochs:
    starts: dict[int, int] = {}
    for offset, epoch in enumerate(records):
        starts.setdefault(epoch, offset)
    return Epochs(starts, len(records))


@given(diverging_logs())
def test_a_follower_ends_up_with_a_prefix_of_its_leader(logs: tuple[list[int], list[int]]) -> None:
    leader_records, follower_records = logs
    leader, follower = epochs_of(leader_records), epochs_of(follower_records)
    newest = max([0, *leader_records, *follower_records]) + 1
    leader.starts[newest] = leader.log_end_offset
    for _ in range(20):
        if follower.last_epoch < 0:
            break
        epoch, end_offset = leader.end_offset_for_epoch(follower.last_epoch)
        if epoch >= follower.last_epoch and end_offset >= follower.log_end_offset:
            break
        follower.cut(truncation_offset(follower, epoch, end_offset))
    else:
        pytest.fail("the two never agree")
    kept = follower_records[: follower.log_end_offset]
    assert kept == leader_records[: len(kept)]
