"""The fetch state of one partition: backoff, and relocation for every offset range of the leader."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.replication.follower.followed_partition import FollowedPartition
from signalbox.replication.follower.truncation import LossNotAccepted
from signalbox.replication.ports import TopicSettings
from tests.replication.memory_cluster import MemoryCluster


def followed(folder: Path, records: int) -> FollowedPartition:
    cluster = MemoryCluster(folder, [1])
    cluster.create([1])
    for _ in range(records):
        cluster.produce(1, b"x")
    cluster.run()
    partition = cluster.brokers[1].partition()
    return FollowedPartition(partition, partition.local_log())


def test_pauses_double_up_to_the_limit(tmp_path: Path) -> None:
    state = followed(tmp_path, 0)
    assert [state.next_backoff_ms(100) for _ in range(6)] == [10, 20, 40, 80, 100, 100]


@pytest.mark.spec("D3")
def test_acknowledged_records_are_not_truncated(tmp_path: Path) -> None:
    state = followed(tmp_path, 3)
    assert state.log.high_watermark == 3
    for truncate in (lambda: state.reset_to_leader_offsets(0, 2), lambda: state.truncate_diverging(0, 2)):
        with pytest.raises(LossNotAccepted, match="truncation offset=2, high watermark=3, log end=3"):
            truncate()
        assert state.log.log_end_offset == 3
    # There was an unclean election after the last batch: the loss is accepted.
    state.partition.unclean_epoch = state.log.last_leader_epoch + 1
    assert state.truncate_diverging(0, 2) == 2


@given(own=st.integers(0, 4), start=st.integers(0, 6), length=st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_after_relocation_the_next_fetch_is_in_the_leaders_range(own: int, start: int, length: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = followed(Path(folder), own)
        state.partition.apply_settings(TopicSettings(unclean_leader_election=True))
        state.reset_to_leader_offsets(start, start + length)
        assert start <= state.fetch_offset <= start + length
        assert state.fetch_offset == state.log.log_end_offset
        if start <= own <= start + length:
            assert (state.fetch_offset, state.log.log_start_offset) == (own, 0)
