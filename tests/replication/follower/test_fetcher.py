"""The follower's side: catching up, divergence, offset ranges, errors and backoff."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, cast

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.replication.follower.leader_channel import OnResponse, ReconnectingChannels
from signalbox.replication.ports import TopicSettings
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, MemoryCluster, batch_of, bytes_of


class Leader:
    """A fake leader: it keeps the requests, and responds when the test calls `response`."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answers: list[OnResponse] = []
        self.closed = False
        self.reconnects = 0

    def open(self, broker_id: int) -> Leader:
        return self

    def send(self, request: Any, on_response: OnResponse) -> None:
        self.requests.append(request)
        self.answers.append(on_response)

    def reconnect(self) -> None:
        self.reconnects += 1

    def close(self) -> None:
        self.closed = True

    def response(
        self, number: int = -1, *data: FetchResponse.PartitionData, session_id: int = 7, error: int = 0
    ) -> None:
        topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(data))
        self.answers[number](FetchResponse(error_code=error, session_id=session_id, responses=[topic]))

    @property
    def fetches(self) -> list[FetchRequest]:
        return [request for request in self.requests if isinstance(request, FetchRequest)]

    def fetched(self, number: int = -1) -> list[tuple[int, int]]:
        """The (partition, offset) pairs of a fetch."""
        return [(p.partition, p.fetch_offset) for topic in self.fetches[number].topics for p in topic.partitions]


def followed(
    tmp_path: Path, partitions: int = 1, config: ReplicationConfig | None = None
) -> tuple[MemoryCluster, Leader]:
    """Broker 2 follows broker 1; broker 1 is the fake leader."""
    cluster = MemoryCluster(tmp_path, [2], config)
    cluster.view.alive.add(1)
    leader = Leader()
    cluster.brokers[2].manager.fetchers._channels = cast(ReconnectingChannels, leader)
    cluster.create([1, 2], partitions=partitions)
    return cluster, leader


def records(*values: bytes, offset: int = 0, epoch: int = 0) -> bytes:
    batch = batch_of(*values)
    batch[0:8] = offset.to_bytes(8, "big")
    batch[12:16] = epoch.to_bytes(4, "big")
    return bytes(batch)


def data(index: int = 0, **fields: Any) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(partition_index=index, log_start_offset=0, **fields)


def test_the_first_fetch_has_all_partitions_and_the_next_only_changes(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path, partitions=3)
    first = leader.fetches[0]
    assert (first.session_id, first.session_epoch, leader.fetched()) == (0, 0, [(0, 0), (1, 0), (2, 0)])
    assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (2, cluster.brokers[2].life)
    leader.response(-1, data(1, high_watermark=1, records=records(b"a")))
    assert (leader.fetches[1].session_id, leader.fetches[1].session_epoch, leader.fetched()) == (7, 1, [(1, 1)])
    leader.response(-1, data(1, high_watermark=1, records=b""))
    assert (leader.fetches[2].session_epoch, leader.fetched()) == (2, [])
    partition = cluster.brokers[2].partition(1)
    assert (partition.high_watermark, partition.local_log(as_leader=False).log_end_offset) == (1, 1)


def test_the_high_watermark_stays_within_the_log(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(high_watermark=50, records=records(b"a", b"b")))
    assert cluster.brokers[2].partition().high_watermark == 2


def test_an_incomplete_batch_is_fetched_again(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    complete = records(b"a") + records(b"b", offset=1)
    leader.response(-1, data(high_watermark=2, records=complete[:-5]))
    assert leader.fetched() == [(0, 1)]
    leader.response(-1, data(high_watermark=2, records=records(b"b", offset=1)))
    assert cluster.brokers[2].content() == complete


def test_no_fetch_is_sent_while_a_response_is_written(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path, partitions=2)
    large = data(high_watermark=1, records=records(bytes(400_000)))
    [fetcher] = cluster.brokers[2].manager.fetchers._fetchers.values()
    writing = CooperativeTask(lambda: leader.response(-1, large))
    slices = 0
    while not writing.dead:
        assert len(leader.fetches) == 1, "it would ask for the same records again"
        writing.switch()  # the deadline has passed: every yield ends a slice
        slices += 1
        if not writing.dead:
            fetcher.pump()
    assert slices > 3
    assert leader.fetched() == [(0, 1)]


def test_divergence_truncates_the_log_and_continues_from_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    cluster, leader = followed(tmp_path)
    for _ in range(2):
        cluster.elect(1)  # leader epochs 1 and 2
    leader.response(-1, data(high_watermark=0))
    leader.response(-1, data(high_watermark=1, records=records(b"a") + records(b"wrong", offset=1, epoch=1)))
    fetch_partition = leader.fetches[-1].topics[0].partitions[0]
    assert (fetch_partition.fetch_offset, fetch_partition.last_fetched_epoch) == (2, 1)
    leader.response(-1, data(diverging_epoch=FetchResponse.EpochEndOffset(epoch=0, end_offset=1), high_watermark=9))
    fetch_partition = leader.fetches[-1].topics[0].partitions[0]
    assert (fetch_partition.fetch_offset, fetch_partition.last_fetched_epoch) == (1, 0)
    assert cluster.brokers[2].partition().high_watermark == 1
    leader.response(-1, data(high_watermark=2, records=records(b"b", offset=1, epoch=2)))
    assert cluster.brokers[2].content() == records(b"a") + records(b"b", offset=1, epoch=2)
    (line,) = (record.getMessage() for record in caplog.records if "Truncated" in record.getMessage())
    assert "log end offset=1, before=2, reason=leader epoch 0 of broker" in line


def test_divergence_that_truncates_nothing_backs_off(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(high_watermark=1, records=records(b"a")))
    leader.response(-1, data(diverging_epoch=FetchResponse.EpochEndOffset(epoch=0, end_offset=1), high_watermark=9))
    fetches = len(leader.fetches)
    assert leader.fetched(fetches - 1) == [(0, 1)]
    cluster.advance(10)
    assert (len(leader.fetches), leader.fetched()) == (fetches + 1, [(0, 1)])


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    "wrong", [{"offset": 2}, {"offset": 1, "epoch": 1}], ids=["a gap", "an epoch above the leader's"]
)
def test_a_batch_that_does_not_continue_the_log_is_fetched_again(tmp_path: Path, wrong: dict[str, int]) -> None:
    """The checksum does not cover the base offset and the leader epoch."""
    cluster, leader = followed(tmp_path)
    complete = records(b"a") + records(b"b", offset=1)
    leader.response(-1, data(high_watermark=2, records=records(b"a") + records(b"b", **wrong)))
    assert cluster.brokers[2].content() == b""
    cluster.advance(10)
    assert leader.fetched() == [(0, 0)]
    leader.response(-1, data(high_watermark=2, records=complete))
    assert cluster.brokers[2].content() == complete


@pytest.mark.parametrize(
    ("own", "start", "end", "goes_on_at", "left"),
    [(3, 10, 20, 10, 0), (3, 0, 2, 2, 2), (3, 0, 3, 3, 3), (3, 2, 9, 3, 3), (3, 0, 0, 0, 0)],
)
def test_out_of_range_asks_where_the_leader_begins_and_ends(
    tmp_path: Path, own: int, start: int, end: int, goes_on_at: int, left: int, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(high_watermark=0, records=b"".join(records(b"x", offset=offset) for offset in range(own))))
    leader.response(-1, data(error_code=Error.OFFSET_OUT_OF_RANGE))
    questions = [request for request in leader.requests if isinstance(request, ListOffsetsRequest)]
    assert [q.topics[0].partitions[0].timestamp for q in questions] == [-2, -1]
    assert all(q.replica_id == 2 for q in questions)
    for question, offset in zip(questions, (start, end), strict=True):
        on_response = leader.answers[leader.requests.index(question)]
        on_response(_listed(question, offset))
    changes = [each.message for each in caplog.records if each.message.startswith("Log truncated or restarted")]
    assert len(changes) == (goes_on_at != own)
    if goes_on_at == own:  # nothing was changed: the follower does not repeat its fetch without a pause
        assert len(leader.fetches) == 2
        cluster.advance(10, step_ms=10)
    assert leader.fetched() == [(0, goes_on_at)]
    log = cluster.brokers[2].partition().local_log(as_leader=False)
    assert log.log_end_offset - log.log_start_offset == left


def _listed(question: ListOffsetsRequest, offset: int) -> Any:
    from signalbox.protocol.messages.list_offsets import ListOffsetsResponse

    entry = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=offset)
    topic = ListOffsetsResponse.ListOffsetsTopicResponse(name=question.topics[0].name, partitions=[entry])
    return ListOffsetsResponse(topics=[topic])


def test_a_failed_list_offsets_is_retried_later(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(error_code=Error.OFFSET_OUT_OF_RANGE))
    questions = len(leader.requests)
    leader.answers[1](ConnectionError("gone"))
    leader.answers[2](ConnectionError("gone"))
    assert len(leader.requests) == questions
    cluster.advance(10, step_ms=10)
    assert leader.fetched() == [(0, 0)]


def test_errors_of_a_partition_make_it_wait_longer_each_time(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path, partitions=2)
    waits = []
    for _ in range(9):
        leader.response(-1, data(0, error_code=Error.NOT_LEADER_OR_FOLLOWER))
        assert leader.fetched() == [] or (0, 0) not in leader.fetched()
        waited = 0
        while True:
            leader.response(-1, data(1, high_watermark=0, records=b""))
            if (0, 0) in leader.fetched():
                break
            cluster.advance(10, step_ms=10)
            waited += 10
        waits.append(waited)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]


@pytest.mark.spec("L12")
def test_the_channel_reconnects_if_the_listener_rejects_replicas(tmp_path: Path) -> None:
    _, leader = followed(tmp_path, partitions=2)
    rejected = Error.TOPIC_AUTHORIZATION_FAILED
    leader.response(-1, data(0, error_code=rejected), data(1, error_code=rejected))
    assert leader.reconnects == 1
    leader.response(-1, data(0, error_code=Error.NOT_LEADER_OR_FOLLOWER))
    assert leader.reconnects == 1


def test_a_fenced_follower_waits_for_its_controller(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(error_code=Error.FENCED_LEADER_EPOCH))
    cluster.advance(5_000)
    assert len(leader.fetches) == 1
    cluster.elect(1)
    assert leader.fetched() == [(0, 0)]
    assert leader.fetches[-1].topics[0].partitions[0].current_leader_epoch == 1


def test_late_answers_do_not_touch_a_new_epoch(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    cluster.elect(1)
    leader.response(-1, data(high_watermark=1, records=records(b"late")))
    assert cluster.brokers[2].content() == b""
    assert leader.fetched() == [(0, 0)]


def test_a_broken_connection_pauses_all_and_forgets_the_session(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path, partitions=2)
    leader.response(-1)
    for attempt in range(3):
        leader.answers[-1](ConnectionError("gone"))
        sent = len(leader.fetches)
        cluster.advance(10 * 2**attempt - 1, step_ms=1)
        assert len(leader.fetches) == sent
        cluster.advance(1, step_ms=1)
        assert (leader.fetches[-1].session_id, leader.fetches[-1].session_epoch) == (0, 0)
        assert leader.fetched() == [(0, 0), (1, 0)]


@pytest.mark.parametrize("error", [Error.FETCH_SESSION_ID_NOT_FOUND, Error.INVALID_FETCH_SESSION_EPOCH])
def test_a_lost_session_is_replaced_at_once(tmp_path: Path, error: Error) -> None:
    _, leader = followed(tmp_path, partitions=2)
    leader.response(-1)
    assert leader.fetched() == []
    leader.response(-1, error=error, session_id=0)
    assert (leader.fetches[-1].session_id, leader.fetches[-1].session_epoch) == (7, 0)
    assert leader.fetched() == [(0, 0), (1, 0)]


def test_a_corrupt_batch_is_fetched_again(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    corrupt = bytearray(records(b"a"))
    corrupt[-1] ^= 1
    leader.response(-1, data(high_watermark=1, records=bytes(corrupt)))
    assert cluster.brokers[2].content() == b""
    cluster.advance(10, step_ms=10)
    leader.response(-1, data(high_watermark=1, records=records(b"a")))
    assert cluster.brokers[2].content() == records(b"a")


def test_a_fetcher_without_partitions_is_closed(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    cluster.view.alive.add(2)
    cluster.elect(2)
    assert (leader.closed, len(cluster.brokers[2].manager.fetchers)) == (True, 0)


def test_bytes_are_counted(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    leader.response(-1, data(high_watermark=1, records=records(b"a")))
    assert cluster.brokers[2].manager.fetchers.bytes_in == len(bytes_of(records(b"a")))


def test_a_leader_log_start_is_followed(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path)
    moved = data(high_watermark=2, records=records(b"a") + records(b"b", offset=1))
    moved.log_start_offset = 1
    leader.response(-1, moved)
    assert cluster.brokers[2].partition().local_log(as_leader=False).log_start_offset == 1


def test_a_fault_of_ours_in_one_partition_does_not_stop_the_others(tmp_path: Path) -> None:
    cluster, leader = followed(tmp_path, partitions=2)
    leader.response(-1, data(0, high_watermark=1, records="no bytes"), data(1, high_watermark=1, records=records(b"a")))
    assert cluster.brokers[2].content(1) == records(b"a")
    assert leader.fetched() == [(1, 1)]
    leader.response(-1)
    cluster.advance(10, step_ms=10)
    leader.response(-1)
    assert leader.fetched() == [(0, 0)]


@pytest.mark.spec("D3")
def test_a_follower_keeps_records_that_its_leader_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The leader restarted with a shorter log: one log line, quiet retries, and the follower stays out of the ISR."""
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    for _ in range(4):
        cluster.produce(1, b"acknowledged")
    cluster.advance(1_000)
    assert cluster.brokers[2].partition().high_watermark == 4
    cluster.kill(1)
    cluster.start(1)
    log = cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0))
    assert log is not None
    log.truncate_to(2)
    cluster.elect(1, isr=[1])
    for _ in range(5):
        cluster.advance(2_000)
    follower = cluster.brokers[2].partition()
    assert follower.log is not None
    assert (follower.log.log_end_offset, cluster.brokers[1].partition().isr) == (4, (1,))
    lines = [each.getMessage() for each in caplog.records if "not truncated below its high watermark" in each.message]
    assert len(lines) == 1
    assert "truncation offset=2, high watermark=4, log end=4" in lines[0]
    # From here on the topic allows unclean elections.
    follower.apply_settings(TopicSettings(unclean_leader_election=True))
    for _ in range(3):
        cluster.advance(2_000)
    assert follower.log.log_end_offset == 2
    assert set(cluster.brokers[1].partition().isr) == {1, 2}
