"""Where a follower truncates its log, as a table, and that the epoch requests come to an end."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.replication.follower.truncation import LossNotAccepted, check_truncation, truncation_offset

pytestmark = pytest.mark.spec("D3")


@dataclass
class Epochs:
    """A log as a dictionary of leader epochs: {epoch: start offset}."""

    starts: dict[int, int]
    log_end_offset: int
    high_watermark: int = 0

    @property
    def last_leader_epoch(self) -> int:
        return self.last_epoch

    @property
    def last_epoch(self) -> int:
        return max(self.starts, default=-1)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        if not self.starts or leader_epoch > self.last_epoch:
            return -1, -1
        epochs = [epoch for epoch in self.starts if epoch <= leader_epoch]
        later = [start for epoch, start in self.starts.items() if epoch > leader_epoch]
        end = min(later, default=self.log_end_offset)
        return (max(epochs), end) if epochs else (leader_epoch, min(self.starts.values()))

    def cut(self, offset: int) -> None:
        self.log_end_offset = min(offset, self.log_end_offset)
        self.starts = {epoch: start for epoch, start in self.starts.items() if start < self.log_end_offset}


# follower's epochs, its log end, (epoch, end offset) of the leader's response, truncation offset
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


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("offset", "unclean_epoch", "unclean_allowed", "accepted"),
    [
        (10, -1, False, True),  # the high watermark stays
        (9, -1, False, False),
        (9, -1, True, True),  # the topic allows unclean elections
        (9, 4, False, True),  # the last batch is older than an unclean election
        (9, 3, False, False),  # the last batch is of the epoch of that election
        (9, 2, False, False),
    ],
)
def test_below_the_high_watermark_only_an_accepted_loss_is_truncated(
    offset: int, unclean_epoch: int, unclean_allowed: bool, accepted: bool
) -> None:
    log = Epochs({1: 0, 3: 5}, 20, high_watermark=10)
    if accepted:
        check_truncation(log, offset, unclean_epoch, unclean_allowed)
        return
    with pytest.raises(LossNotAccepted, match="high watermark=10, log end=20, last leader epoch=3"):
        check_truncation(log, offset, unclean_epoch, unclean_allowed)


@st.composite
def diverging_logs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two logs, each as a list with the leader epoch of each record. They share a prefix, then each had another leader.
    One log may continue the last common epoch; each later epoch is in one log only."""
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
