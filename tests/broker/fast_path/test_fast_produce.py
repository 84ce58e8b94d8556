"""Produce on the fast path: waiting for replicas, deadlines, partitions with different results. Equality with the
generic path: test_fast_path.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.replication.ports import TopicSettings
from tests.broker.fast_path.test_fast_path import FastPathPair, Produce, request, twins_in
from tests.replication.memory_cluster import TOPIC, batch_of


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[FastPathPair]:
    with twins_in(tmp_path) as pair:
        yield pair


def errors(answer: object, version: int) -> list[int]:
    assert isinstance(answer, bytes)
    response = ProduceResponse.decode(answer, version, decode_response_header(answer, 0, version)[1])
    return [row.error_code for topic in response.responses for row in topic.partition_responses]


def test_not_enough_in_sync_replicas_is_returned_at_once(pair: FastPathPair) -> None:
    for _ in range(3):
        pair.send(Produce(9, -1, (0,)))
    for side in (pair.fast, pair.generic):
        side.cluster.configs.topic = TopicSettings(min_insync_replicas=1)
        partition = side.broker.partition()
        partition.replicas = (1, 2)
        partition.apply_settings(TopicSettings(min_insync_replicas=2))
    hits = pair.fast.hits
    [response] = pair.send(Produce(9, -1, (0,)))
    assert errors(response, 9) == [Error.NOT_ENOUGH_REPLICAS]
    assert pair.fast.hits == hits + 1


def test_one_bad_batch_of_three_fails_alone(pair: FastPathPair) -> None:
    for _ in range(4):
        pair.send(Produce(9, 1, (0, 1, 2)))
    hits = pair.fast.hits
    frame = bytearray(Produce(9, 1, (0, 1, 2)).frame(pair, 9))
    frame[-5] ^= 1  # corrupts the last record of the last batch
    [response] = pair.send_raw(bytes(frame))
    assert errors(response, 9) == [0, 0, Error.CORRUPT_MESSAGE]
    assert pair.fast.hits == hits + 1


def test_the_same_head_with_another_second_partition_gets_a_new_template(pair: FastPathPair) -> None:
    for partitions in ((0, 1), (0, 1), (0, 1), (0, 2), (0, 2), (0, 2)):
        pair.send(Produce(9, 1, partitions))
    assert pair.fast.hits >= 1


def test_a_partition_named_twice_never_takes_the_fast_path(pair: FastPathPair) -> None:
    for _ in range(4):
        [response] = pair.send(Produce(9, 1, (0, 1, 0)))
        assert errors(response, 9) == [0, 0]
    assert pair.fast.hits == 0


@pytest.mark.parametrize(("version", "error"), [(6, Error.UNSUPPORTED_COMPRESSION_TYPE), (7, Error.NONE)])
def test_zstd_needs_version_7_however_often_it_comes(pair: FastPathPair, version: int, error: Error) -> None:
    packed = encode_batch([Record(value=b"v", timestamp=ManualClock().now_ms())], compression="zstd")
    for records in (batch_of(b"v"), batch_of(b"v"), batch_of(b"v"), packed, packed):
        data = ProduceRequest.PartitionProduceData(index=0, records=bytes(records))
        topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])
        body = ProduceRequest(acks=1, timeout_ms=500, topic_data=[topic]).encode(version)
        [response] = pair.send_raw(request(ApiKey.PRODUCE, version, body))
    assert errors(response, version) == [error]


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_long_queue_of_sequences(pair: FastPathPair, acks: int) -> None:
    for _ in range(20):
        pair.send(Produce(9, acks, (0,), producer_id=9))
    assert pair.fast.hits == 18
