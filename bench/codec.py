"""Our codec against two others: decoding against kafka-python, encoding against kio.

    python -m bench.codec [--quick]

Nine messages that brokers use most. The three codecs take turns in short slices and the best slice of each
counts, so that other load on the machine affects all alike; before any measurement every codec must produce the same
bytes. Prints a row per message, the geometric mean and the lowest ratio of each direction, writes
`build/bench-codec.json`, and exits with 1 if a ratio (reference time divided by ours) is below its bound.
"""

from __future__ import annotations

import importlib
import io
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kio.serial import entity_reader, entity_writer

from bench.table import Row, Table, at_least
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse

DECODE_LEAST, DECODE_MEAN = 1.4, 1.7
ENCODE_LEAST, ENCODE_MEAN = 4.0, 7.0

KAFKA_PYTHON_MODULES = {
    "ApiVersions": "kafka.protocol.metadata.api_versions",
    "CreateTopics": "kafka.protocol.admin.topics",
    "Fetch": "kafka.protocol.consumer.fetch",
    "Metadata": "kafka.protocol.metadata.metadata",
    "Produce": "kafka.protocol.producer.produce",
}


@dataclass(frozen=True)
class Sample:
    title: str
    message: Any
    version: int


def samples() -> Iterator[Sample]:
    """The messages of the table, filled as in real traffic."""
    yield Sample("Metadata response 12, 100 partitions", _metadata_response(), 12)
    yield Sample("Produce request 9, 16 KB batch", _produce_request(), 9)
    yield Sample("Produce response 9", _produce_response(), 9)
    yield Sample("Fetch request 12, 1 partition", _fetch_request(1), 12)
    yield Sample("Fetch request 12, 50 partitions", _fetch_request(50), 12)
    yield Sample("Fetch response 12, 1 partition of 16 KB", _fetch_response(1, bytes(16384)), 12)
    yield Sample("Fetch response 12, 50 empty partitions", _fetch_response(50, b""), 12)
    yield Sample("CreateTopics request 7, 2 configs", _create_topics_request(), 7)
    yield Sample("ApiVersions response 3, 60 keys", _api_versions_response(), 3)


def _metadata_response() -> Any:
    topics = [
        MetadataResponse.MetadataResponseTopic(
            name=f"topic-{number}",
            topic_id=bytes([number + 1]) * 16,
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=index % 3,
                    leader_epoch=4,
                    replica_nodes=[0, 1, 2],
                    isr_nodes=[0, 1, 2],
                )
                for index in range(10)
            ],
        )
        for number in range(10)
    ]
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host=f"broker-{node}.example", port=9092, rack="r1")
        for node in range(3)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="abcdefghijklmnopqrstuv", controller_id=1, topics=topics)


def _produce_request() -> Any:
    partition = ProduceRequest.PartitionProduceData(index=3, records=bytes(16384))
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30000, topic_data=[topic])


def _produce_response() -> Any:
    partition = ProduceResponse.PartitionProduceResponse(index=3, base_offset=123456, log_start_offset=0)
    topic = ProduceResponse.TopicProduceResponse(name="orders", partition_responses=[partition])
    return ProduceResponse(responses=[topic])


def _fetch_request(partition_count: int) -> Any:
    partitions = [
        FetchRequest.FetchPartition(
            partition=index, current_leader_epoch=4, fetch_offset=123456 + index, partition_max_bytes=1048576
        )
        for index in range(partition_count)
    ]
    topic = FetchRequest.FetchTopic(topic="orders", partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=52428800, session_id=7, session_epoch=3, topics=[topic])


def _fetch_response(partition_count: int, records: bytes) -> Any:
    partitions = [
        FetchResponse.PartitionData(
            partition_index=index,
            high_watermark=123456,
            last_stable_offset=123456,
            log_start_offset=0,
            aborted_transactions=[],
            records=records,
        )
        for index in range(partition_count)
    ]
    response = FetchResponse.FetchableTopicResponse(topic="orders", partitions=partitions)
    return FetchResponse(session_id=7, responses=[response])


def _create_topics_request() -> Any:
    configs = [
        CreateTopicsRequest.CreatableTopicConfig(name="cleanup.policy", value="compact"),
        CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="86400000"),
    ]
    topic = CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=12, replication_factor=3, configs=configs)
    return CreateTopicsRequest(topics=[topic], timeout_ms=30000)


def _api_versions_response() -> Any:
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=9) for key in range(60)]
    return ApiVersionsResponse(api_keys=keys)


def kafka_python_class(message: Any) -> Any:
    name = type(message).__name__
    api = name.removesuffix("Request").removesuffix("Response")
    return getattr(importlib.import_module(KAFKA_PYTHON_MODULES[api]), name)


def same_structure(ours: Any, theirs: Any) -> bool:
    """True if kafka-python read as many elements into every list; it cannot encode a message that it has decoded."""
    for name in ours._attributes:
        value = getattr(ours, name)
        if isinstance(value, list) and value:
            other = getattr(theirs, name)
            if len(value) != len(other):
                return False
            if hasattr(value[0], "_attributes") and not same_structure(value[0], other[0]):
                return False
    return True


def kio_class(message: Any, version: int) -> Any:
    name = type(message).__name__
    api = name.removesuffix("Request").removesuffix("Response")
    folder = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in api).lstrip("_")
    side = "request" if name.endswith("Request") else "response"
    return getattr(importlib.import_module(f"kio.schema.{folder}.v{version}.{side}"), name)


@dataclass(frozen=True)
class Contest:
    """Two functions without arguments that do the same work."""

    metric: str
    ours: Callable[[], Any]
    reference: Callable[[], Any]


def contests(sample: Sample) -> list[Contest]:
    """Decode and encode of one sample, after all codecs have produced the same bytes."""
    made, version = type(sample.message), sample.version
    frame = sample.message.encode(version)
    message = made.decode(frame, version)
    theirs = kafka_python_class(sample.message)
    kio_type = kio_class(sample.message, version)
    kio_message = entity_reader(kio_type)(frame, 0)[0]
    write = entity_writer(kio_type)

    def kio_encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, kio_message)
        return buffer.getvalue()

    if kio_encode() != frame or message.encode(version) != frame:
        raise SystemExit(f"{sample.title}: the codecs disagree about the bytes")
    if not same_structure(message, theirs.decode(frame, version=version)):
        raise SystemExit(f"{sample.title}: kafka-python reads it differently")
    return [
        Contest(
            f"decode {sample.title}",
            lambda: made.decode(frame, version),
            lambda: theirs.decode(frame, version=version),
        ),
        Contest(f"encode {sample.title}", lambda: message.encode(version), kio_encode),
    ]


def measure(contest: Contest, slices: int) -> tuple[float, float]:
    """Best microseconds per call of (ours, reference) over interleaved slices."""
    best = [math.inf, math.inf]
    counts = [max(1, int(0.001 / _seconds(function, 20))) for function in (contest.ours, contest.reference)]
    for _ in range(slices):
        for side, function in enumerate((contest.ours, contest.reference)):
            best[side] = min(best[side], _seconds(function, counts[side]))
    return best[0] * 1e6, best[1] * 1e6


def _seconds(function: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count


def rows(slices: int) -> Iterator[Row]:
    """Two rows per message, then for each direction the mean and the lowest ratio; only these have a bound."""
    figures: dict[str, list[tuple[float, float, str]]] = {"decode": [], "encode": []}
    for sample in samples():
        for contest in contests(sample):
            ours, reference = measure(contest, slices)
            figures[contest.metric.partition(" ")[0]].append((ours, reference, contest.metric))
            yield at_least(f"{contest.metric}, us", ours, reference, None)
    for kind, rival, mean_bound, least_bound in (
        ("decode", "kafka-python", DECODE_MEAN, DECODE_LEAST),
        ("encode", "kio", ENCODE_MEAN, ENCODE_LEAST),
    ):
        ours = _geometric_mean([row[0] for row in figures[kind]])
        reference = _geometric_mean([row[1] for row in figures[kind]])
        yield at_least(f"codec: {kind} against {rival}, geometric mean, us", ours, reference, mean_bound)
        ours, reference, _ = min(figures[kind], key=lambda row: row[1] / row[0])
        yield at_least(f"codec: {kind} against {rival}, the lowest ratio, us", ours, reference, least_bound)


def _geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main(arguments: list[str]) -> int:
    table = Table("bench-codec")
    table.head("ratio = reference / ours, which is to be at least `bound`")
    for row in rows(15 if "--quick" in arguments else 60):
        table.add(row)
    return table.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
