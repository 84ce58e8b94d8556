"""The request frames of the loads, encoded once by our own codec and sent by C repeatedly."""

from __future__ import annotations

import time
from dataclasses import dataclass

from crc32c import crc32c

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header, encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch

CLIENT_ID = "bench"
PRODUCE_VERSION, FETCH_VERSION, API_VERSIONS_VERSION = 9, 12, 3
METADATA_VERSION, LIST_OFFSETS_VERSION, LEADER_AND_ISR_VERSION = 12, 7, 7
MAX_WAIT_MS = 500


@dataclass(frozen=True)
class Frame:
    """A complete request with its size. `batch_at` 0: nothing in it changes; `error_at` counts from the correlation id
    of the response, 0: its error is not checked."""

    data: bytes
    batch_at: int = 0
    records: int = 0
    error_at: int = 0


def _framed(api_key: int, version: int, body: bytes) -> bytes:
    payload = encode_request_header(api_key, version, 1, CLIENT_ID) + body
    return len(payload).to_bytes(4) + payload


def api_versions() -> Frame:
    body = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    return Frame(_framed(ApiKey.API_VERSIONS, API_VERSIONS_VERSION, body.encode(API_VERSIONS_VERSION)), error_at=4)


def batch_of(size_bytes: int, records: int) -> bytes:
    """A batch of exactly `size_bytes` from an idempotent producer, with the current time: retention keeps it."""
    now_ms = int(time.time() * 1000)

    def made(last: int, each: int) -> bytes:
        sizes = [each] * (records - 1) + [last]
        return encode_batch(
            [Record(0, now_ms, None, bytes(size), []) for size in sizes],
            producer_id=1,
            producer_epoch=0,
            base_sequence=0,
            timestamp_ms=now_ms,
        )

    each = max(0, (size_bytes - 61) // records - 12)
    last = each
    for _ in range(8):
        batch = made(last, each)
        if len(batch) == size_bytes:
            return batch
        last = max(0, last + size_bytes - len(batch))
    raise ValueError(f"no batch of {records} records has {size_bytes} bytes")


def plain(batch: bytes) -> bytes:
    """The batch without its producer: several batches of one producer would be duplicates."""
    made = bytearray(batch)
    made[43:57] = (-1).to_bytes(8, signed=True) + (-1).to_bytes(2, signed=True) + (-1).to_bytes(4, signed=True)
    made[17:21] = crc32c(memoryview(made)[21:]).to_bytes(4)
    return bytes(made)


def produce(topic: str, batch: bytes, records: int, acks: int, index: int = 0) -> Frame:
    """One batch for a partition of `topic`."""
    data = ProduceRequest.PartitionProduceData(index=index, records=batch)
    body = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])],
    ).encode(PRODUCE_VERSION)
    frame = _framed(ApiKey.PRODUCE, PRODUCE_VERSION, body)
    # response: correlation id, tags, one topic, its name, one partition, its index, then the error
    error_at = 4 + 1 + 1 + 1 + len(topic) + 1 + 4
    return Frame(frame, frame.index(batch), records, error_at)


def fetch(topic: str, max_bytes: int, isolation_level: int = 0) -> Frame:
    """The first `max_bytes` of partition 0, without a session; 1: only committed records."""
    return fetch_at(topic, 0, 0, max_bytes, isolation_level)


def fetch_at(topic: str, index: int, offset: int, max_bytes: int, isolation_level: int = 0) -> Frame:
    """`max_bytes` of one partition from an offset on, without a session."""
    partition = FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
    body = FetchRequest(
        max_wait_ms=MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=52_428_800,
        isolation_level=isolation_level,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
    ).encode(FETCH_VERSION)
    # response: correlation id, tags, throttle time, top-level error
    return Frame(_framed(ApiKey.FETCH, FETCH_VERSION, body), error_at=4 + 1 + 4)


def everything() -> Frame:
    """Metadata for all topics."""
    return Frame(_framed(ApiKey.METADATA, METADATA_VERSION, MetadataRequest(topics=None).encode(METADATA_VERSION)))


def metadata_of(topic: str) -> Frame:
    """Metadata for one topic."""
    body = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    ).encode(METADATA_VERSION)
    return Frame(_framed(ApiKey.METADATA, METADATA_VERSION, body))


def list_offsets(topic: str, partitions: int) -> Frame:
    """The latest offsets of so many partitions of one topic, whether it has them or not."""
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)
    ]
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=wanted)]
    body = ListOffsetsRequest(replica_id=-1, topics=topics).encode(LIST_OFFSETS_VERSION)
    return Frame(_framed(ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, body))


def wide_fetch(topic: str, partitions: int) -> Frame:
    """A fetch of so many partitions of one topic, whether it has them or not."""
    wanted = [FetchRequest.FetchPartition(partition=index, partition_max_bytes=1_024) for index in range(partitions)]
    body = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchRequest.FetchTopic(topic=topic, partitions=wanted)]
    ).encode(FETCH_VERSION)
    return Frame(_framed(ApiKey.FETCH, FETCH_VERSION, body))


def stale_leader_and_isr() -> Frame:
    """A controller request that changes nothing: its controller epoch is outdated."""
    body = LeaderAndIsrRequest(controller_id=1, controller_epoch=0, broker_epoch=-1).encode(LEADER_AND_ISR_VERSION)
    return Frame(_framed(ApiKey.LEADER_AND_ISR, LEADER_AND_ISR_VERSION, body))


def fetch_answer_head(topic: str, size_bytes: int) -> bytes:
    """The part of the response before the records, its size included: for the reference."""
    data = FetchResponse.PartitionData(
        partition_index=0,
        high_watermark=8,
        last_stable_offset=8,
        log_start_offset=0,
        aborted_transactions=None,
        records=bytes(size_bytes),
    )
    answered = FetchResponse.FetchableTopicResponse(topic=topic, partitions=[data])
    body = FetchResponse(responses=[answered]).encode_chunks(FETCH_VERSION)[0]
    return bytes(4) + encode_response_header(ApiKey.FETCH, FETCH_VERSION, 1) + bytes(body)
