"""The fast path returns the same bytes as the generic path: random requests and changes to two brokers, one with it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.common.clock import ManualClock
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from tests.broker.fast_path_pair import PARTITIONS, PairSide
from tests.protocol.records.poison import MISNUMBERED, poisoned
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, batch_of

PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)


def request(api_key: ApiKey, version: int, body: bytes, correlation_id: int = 7) -> bytes:
    return encode_request_header(api_key, version, correlation_id, "twin") + body


@dataclass
class Produce:
    """One kind of produce request; `fault` names what is wrong with the batch."""

    version: int
    acks: int
    partitions: tuple[int, ...]
    fault: str = ""
    producer_id: int = -1
    step: int = 1  # increment of the sequence: 0 repeats it, 2 leaves a gap
    size: int = 5

    def frame(self, pair: FastPathPair, correlation_id: int) -> bytes:
        data = [
            ProduceRequest.PartitionProduceData(index=index, records=self._batch(pair, index))
            for index in self.partitions
        ]
        topic = ProduceRequest.TopicProduceData(name=TOPIC, topic_id=TOPIC_ID, partition_data=data)
        body = ProduceRequest(acks=self.acks, timeout_ms=500, topic_data=[topic]).encode(self.version)
        return request(ApiKey.PRODUCE, self.version, body, correlation_id)

    def _batch(self, pair: FastPathPair, index: int) -> bytes:
        key = (self.producer_id, index)
        sequence = pair.sequences.get(key, -1) + self.step if key in pair.sequences else 0
        if self.producer_id >= 0 and not self.fault and self.step == 1:
            pair.sequences[key] = sequence
        batch = batch_of(b"v" * self.size, producer_id=self.producer_id, sequence=max(sequence, 0))
        if self.fault == "crc":
            batch[-1] ^= 1
        elif self.fault == "cut":
            del batch[-3:]
        elif self.fault == "number":
            return poisoned(MISNUMBERED["offset delta 5"], ManualClock().now_ms())
        elif self.fault == "magic":
            batch[16] = 1
        elif self.fault == "empty":
            return b""
        return bytes(batch)


@dataclass
class Fetch:
    version: int
    partition: int
    offset: int
    min_bytes: int = 1
    max_bytes: int = 1 << 20
    isolation: int = 0
    leader_epoch: int = -1
    session_epoch: int = -1
    wait_ms: int = 100

    def frame(self, pair: FastPathPair, correlation_id: int) -> bytes:
        asked = FetchRequest.FetchPartition(
            partition=self.partition,
            fetch_offset=self.offset,
            partition_max_bytes=self.max_bytes,
            current_leader_epoch=self.leader_epoch,
        )
        topic = FetchRequest.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[asked])
        body = FetchRequest(
            max_wait_ms=self.wait_ms,
            min_bytes=self.min_bytes,
            max_bytes=1 << 22,
            isolation_level=self.isolation,
            session_epoch=self.session_epoch,
            topics=[topic],
        ).encode(self.version)
        return request(ApiKey.FETCH, self.version, body, correlation_id)


@dataclass
class ApiVersionsCall:
    version: int
    name: str = "lib"
    identity: bool = False

    def frame(self, pair: FastPathPair, correlation_id: int) -> bytes:
        body = ApiVersionsRequest(client_software_name=self.name, client_software_version="1.0")
        if self.identity and self.version >= 5:
            body.cluster_id, body.node_id = "cluster", 1
        return request(ApiKey.API_VERSIONS, self.version, body.encode(self.version), correlation_id)


@dataclass
class FastPathPair:
    """Both brokers, and the last sequence of each producer and partition."""

    fast: PairSide
    generic: PairSide
    sequences: dict[tuple[int, int], int] = field(default_factory=dict)
    correlation_id: int = 100

    def send(self, kind: Produce | Fetch | ApiVersionsCall, connection: int = 0) -> list[bytes | str | None]:
        self.correlation_id += 1
        return self.send_raw(kind.frame(self, self.correlation_id), connection)

    def send_raw(self, frame: bytes, connection: int = 0) -> list[bytes | str | None]:
        answered = self.fast.send(frame, connection)
        assert answered == self.generic.send(frame, connection)
        return answered

    def change(self, what: str) -> None:
        for side in (self.fast, self.generic):
            if what == "elect":
                for index in range(PARTITIONS):
                    side.cluster.elect(1, index)
                side.cluster.run()
            elif what == "deny":
                side.authorizer.switch()
            elif what == "image":
                side.know_topic()
            elif what == "forget":
                side.forget_topic()
            else:
                side.cluster.stop_replica(1, delete=True)
                side.cluster.run()

    def check(self) -> None:
        assert self.fast.recorded() == self.generic.recorded()
        assert self.fast.logs() == self.generic.logs()


@contextmanager
def twins_in(folder: Path) -> Iterator[FastPathPair]:
    pair = FastPathPair(PairSide(folder / "fast", fast=True), PairSide(folder / "generic", fast=False))
    try:
        yield pair
        pair.check()
    finally:
        pair.fast.close()
        pair.generic.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[FastPathPair]:
    with twins_in(tmp_path) as pair:
        yield pair


acks = st.sampled_from([0, 1, -1, 2])
produces = st.builds(
    Produce,
    st.sampled_from(PRODUCE_VERSIONS),
    acks,
    st.lists(st.integers(0, PARTITIONS), min_size=1, max_size=9).map(tuple),
    st.sampled_from(["", "", "", "crc", "cut", "number", "magic", "empty"]),
    st.sampled_from([-1, 1, 2]),
    st.sampled_from([1, 1, 0, 2]),
    st.sampled_from([1, 100, 200, 20_000]),
)
fetches = st.builds(
    Fetch,
    st.sampled_from(FETCH_VERSIONS),
    st.integers(0, PARTITIONS),
    st.integers(0, 6),
    st.sampled_from([0, 1, 500, 100_000]),
    st.sampled_from([1, 80, 1 << 20]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([-1, -1, 0]),
    st.sampled_from([0, 100]),
)
asks = st.builds(ApiVersionsCall, st.integers(0, 5), st.sampled_from(["lib", "-bad"]), st.booleans())
changes = st.sampled_from(["elect", "deny", "image", "forget", "delete"])
steps = st.lists(
    st.one_of(
        st.tuples(st.one_of(produces, fetches, asks), st.integers(1, 4), st.integers(0, 1)),
        changes,
        st.tuples(st.binary(max_size=60), st.just(1), st.integers(0, 1)),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_random_requests_are_answered_alike(plan: list[object]) -> None:
    with tempfile.TemporaryDirectory() as folder, twins_in(Path(folder)) as pair:
        for step in plan:
            if isinstance(step, str):
                pair.change(step)
                continue
            assert isinstance(step, tuple)
            kind, times, connection = step
            for _ in range(times):
                if not isinstance(kind, bytes):
                    pair.send(kind, connection)
                elif len(kind) >= 1:
                    # random bytes behind a valid header of an API that has a fast path
                    key = (ApiKey.PRODUCE, ApiKey.FETCH)[kind[0] % 2]
                    version = API_TABLE[key].max_version
                    pair.send_raw(request(key, version, kind), connection)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize("partitions", [(0,), (3, 1, 2), tuple(range(8))])
def test_a_repeated_produce_takes_the_fast_path_from_version_7(
    pair: FastPathPair, version: int, partitions: tuple[int, ...]
) -> None:
    for number in range(6):
        answered = pair.send(
            Produce(version, (-1, 1, 0)[version % 3], partitions, producer_id=5, size=10 + 40 * number)
        )
        assert len(answered) == 1
    assert pair.fast.hits == (4 if version >= 7 else 0)  # the first two requests build the template


def test_a_request_for_nine_partitions_never_takes_the_fast_path(pair: FastPathPair) -> None:
    for _ in range(5):
        pair.send(Produce(9, 1, tuple(range(9))))
    assert pair.fast.hits == 0


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_a_repeated_fetch_takes_the_fast_path_at_every_version(pair: FastPathPair, version: int) -> None:
    for _ in range(4):
        pair.send(Produce(9, 1, (2,), size=300))
    before = pair.fast.hits
    for offset in (0, 0, 1, 3, 2):
        [response] = pair.send(Fetch(version, 2, offset, isolation=version % 2))
        assert isinstance(response, bytes)
        assert len(response) > 300
    assert pair.fast.hits - before == 3


def test_a_fetch_at_the_end_waits_on_the_long_way(pair: FastPathPair) -> None:
    for offset in (0, 0, 0):
        [response] = pair.send(Fetch(12, 2, offset))
        assert isinstance(response, bytes)
    assert pair.fast.hits == 0


@pytest.mark.parametrize("version", range(6))
def test_repeated_api_versions_take_the_fast_path(pair: FastPathPair, version: int) -> None:
    for _ in range(4):
        pair.send(ApiVersionsCall(version))
    assert pair.fast.hits == 2


def test_an_identity_is_looked_at_every_time(pair: FastPathPair) -> None:
    for _ in range(4):
        pair.send(ApiVersionsCall(5, identity=True))
    assert pair.fast.hits == 0


@pytest.mark.parametrize("what", ["elect", "deny", "image", "forget", "delete"])
def test_a_change_is_seen_by_the_next_request(pair: FastPathPair, what: str) -> None:
    kinds = (Produce(13, -1, (0,)), Produce(13, 1, (0, 1)), Fetch(13, 0, 0))
    for _ in range(4):
        for kind in kinds:
            pair.send(kind)
    hits = pair.fast.hits
    assert hits == 7
    pair.change(what)
    for kind in kinds:
        pair.send(kind)
    assert pair.fast.hits == hits


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_rejected_batches_are_answered_by_the_fast_path(pair: FastPathPair, acks: int) -> None:
    for fault in ("", "", "", "crc", "number", "magic"):
        pair.send(Produce(9, acks, (0,), fault))
    pair.send(Produce(9, acks, (0,), producer_id=3))
    pair.send(Produce(9, acks, (0,), producer_id=3, step=0))  # a duplicate
    pair.send(Produce(9, acks, (0,), producer_id=3, step=3))  # a gap in the sequence
    assert pair.fast.hits == 7


def test_connections_do_not_share_templates(pair: FastPathPair) -> None:
    for _ in range(3):
        pair.send(Produce(9, 1, (0,)), 0)
    hits = pair.fast.hits
    pair.send(Produce(9, 1, (0,)), 1)
    assert pair.fast.hits == hits


def test_stats_are_flushed_when_the_connection_closes(pair: FastPathPair) -> None:
    assert pair.fast.fast_path is not None
    for _ in range(5):
        pair.send(ApiVersionsCall(3))
    pair.fast.fast_path.forget(pair.fast.connections[0])  # type: ignore[arg-type]
    assert any(row[1:3] == ("API_VERSIONS", 5) for row in pair.fast.recorded())
    pair.generic.recorded()
