"""Incremental fetches on the fast path: random sequences of fetches, appends and changes, equal with the generic path
to the byte."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch_session import SWEEP_EVERY_MS
from tests.broker.fast_path.test_fast_path import FastPathPair, Produce, request, twins_in
from tests.replication.memory_cluster import TOPIC, TOPIC_ID
from tests.replication.memory_transactions import end_transaction, produce_in_transaction

CHANGES = ["elect", "deny", "image", "forget", "delete"]


@dataclass
class Consumer:
    """A client with one session; its requests name the partitions of `offsets`."""

    pair: FastPathPair
    version: int = 12
    session_id: int = 0
    epoch: int = 0
    limits: dict[str, int] = field(default_factory=dict)

    def fetch(self, offsets: dict[int, int], *, skip: int = 0, wait_ms: int = 0, connection: int = 0) -> FetchResponse:
        """`skip`: by how much the epoch is wrong."""
        partitions = [
            FetchRequest.FetchPartition(partition=index, fetch_offset=at, partition_max_bytes=1 << 20)
            for index, at in offsets.items()
        ]
        topics = [FetchRequest.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=partitions)] if offsets else []
        body = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=self.limits.get("min_bytes", 1),
            max_bytes=self.limits.get("max_bytes", 1 << 22),
            isolation_level=self.limits.get("isolation", 0),
            session_id=self.session_id,
            session_epoch=self.epoch + skip,
            topics=topics,
        ).encode(self.version)
        self.pair.correlation_id += 1
        frame = request(ApiKey.FETCH, self.version, body, self.pair.correlation_id)
        [answer] = self.pair.send_raw(frame, connection)
        assert isinstance(answer, bytes)
        response = FetchResponse.decode(answer, self.version, 5 if self.version >= 12 else 4)
        if self.epoch == 0:
            self.session_id = response.session_id
        if self.session_id and not response.error_code:
            self.epoch += 1
        return response


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[FastPathPair]:
    with twins_in(tmp_path) as pair:
        yield pair


def started(pair: FastPathPair, version: int = 12, partitions: int = 3) -> Consumer:
    consumer = Consumer(pair, version)
    consumer.fetch(dict.fromkeys(range(partitions), 0))
    return consumer


@pytest.mark.parametrize("version", range(7, 19))
def test_incremental_fetches_take_the_fast_path(pair: FastPathPair, version: int) -> None:
    consumer = started(pair, version)
    for end in range(1, 7):
        pair.send(Produce(9, 1, (1,), size=100))
        hits = pair.fast.hits
        response = consumer.fetch({1: end - 1}, wait_ms=100)
        [[data]] = [topic.partitions for topic in response.responses]
        assert data.high_watermark == end
        assert data.records
        assert pair.fast.hits - hits == (end > 1)  # the first one builds the template
    hits = pair.fast.hits
    for _ in range(3):
        assert consumer.fetch({1: 6}).responses == []
        assert consumer.fetch({}).responses == []
    assert pair.fast.hits > hits


def test_an_empty_request_returns_new_records_of_a_clean_partition(pair: FastPathPair) -> None:
    consumer = started(pair)
    for _ in range(3):
        assert consumer.fetch({}).responses == []
    hits = pair.fast.hits
    pair.send(Produce(9, 1, (2,)))
    response = consumer.fetch({})
    assert [data.partition_index for topic in response.responses for data in topic.partitions] == [2]
    assert pair.fast.hits == hits + 1


@pytest.mark.spec("D5")
def test_aborted_transactions_are_in_the_response(pair: FastPathPair) -> None:
    consumer = started(pair)
    consumer.limits["isolation"] = 1
    for _ in range(3):
        consumer.fetch({0: 0})
    for side in (pair.fast, pair.generic):
        produce_in_transaction(side.cluster, 1, 70, b"x")
        end_transaction(side.cluster, 1, 70, is_commit=False)
        side.cluster.run()
    hits = pair.fast.hits
    [[data]] = [topic.partitions for topic in consumer.fetch({0: 0}).responses]
    assert [(aborted.producer_id, aborted.first_offset) for aborted in data.aborted_transactions or ()] == [(70, 0)]
    assert pair.fast.hits == hits + 1
    [[data]] = [topic.partitions for topic in consumer.fetch({0: 1}).responses]
    assert [(aborted.producer_id, aborted.first_offset) for aborted in data.aborted_transactions or ()] == [(70, 0)]


def test_another_epoch_is_rejected_by_the_generic_path(pair: FastPathPair) -> None:
    consumer = started(pair)
    for _ in range(3):
        consumer.fetch({})
    hits = pair.fast.hits
    assert consumer.fetch({}, skip=1).error_code == Error.INVALID_FETCH_SESSION_EPOCH
    assert consumer.fetch({}, skip=-1).error_code == Error.INVALID_FETCH_SESSION_EPOCH
    assert pair.fast.hits == hits
    assert consumer.fetch({}).error_code == 0
    assert pair.fast.hits == hits + 1


def test_a_fetch_that_waits_takes_the_generic_path(pair: FastPathPair) -> None:
    consumer = started(pair)
    for _ in range(4):
        consumer.fetch({}, wait_ms=100)
    assert pair.fast.hits == 0


def test_several_partitions_share_the_bytes(pair: FastPathPair) -> None:
    consumer = started(pair)
    consumer.limits["max_bytes"] = 500
    for _ in range(5):
        pair.send(Produce(9, 1, (0, 1, 2), size=300))
    for number in range(5):
        consumer.fetch(dict.fromkeys(range(3), number))
    hits = pair.fast.hits
    assert consumer.fetch(dict.fromkeys(range(3), 4)).responses
    assert pair.fast.hits == hits + 1


actions = st.one_of(
    st.tuples(
        st.just("fetch"),
        st.dictionaries(st.integers(0, 9), st.integers(0, 4), max_size=3),
        st.sampled_from([0, 0, 0, 0, 1, -1]),
        st.sampled_from([0, 0, 100]),
        st.integers(0, 1),
    ),
    st.tuples(st.just("produce"), st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True)),
    st.tuples(st.just("change"), st.sampled_from(CHANGES)),
    st.tuples(st.just("sweep")),
)
limits = st.fixed_dictionaries(
    {"min_bytes": st.sampled_from([0, 1, 300]), "max_bytes": st.sampled_from([1, 300, 1 << 22]),
     "isolation": st.integers(0, 1)}
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.integers(7, 18), limits, st.lists(st.tuples(actions, st.integers(1, 4)), max_size=14))
def test_random_incremental_requests_are_answered_alike(
    version: int, limits: dict[str, int], plan: list[tuple[tuple[object, ...], int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder, twins_in(Path(folder)) as pair:
        consumer = started(pair, version)
        consumer.limits = limits
        for action, times in plan:
            for _ in range(times):
                take(pair, consumer, action)


def take(pair: FastPathPair, consumer: Consumer, action: tuple[object, ...]) -> None:
    match action:
        case ("fetch", dict(offsets), int(skip), int(wait_ms), int(connection)):
            consumer.fetch(offsets, skip=skip, wait_ms=wait_ms, connection=connection)
        case ("produce", list(partitions)):
            pair.send(Produce(9, 1, tuple(partitions), size=150))
        case ("change", str(what)):
            pair.change(what)
        case _:
            for side in (pair.fast, pair.generic):
                side.cluster.advance(SWEEP_EVERY_MS)
