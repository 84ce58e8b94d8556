"""The interpreter, the reference for the compiled codec, against bytes that were written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.codec.interpreter import Reader, decode_struct, encode_struct, equals_default
from signalbox.protocol.codec.layout import layout_of
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest


def write(message: Any, version: int) -> str:
    chunks: list[Any] = []
    encode_struct(chunks, message, layout_of(message.schema, version), type(message).__name__)
    return b"".join(chunks).hex(" ")


def read(made: Any, version: int, text: str) -> Any:
    reader = Reader(bytes.fromhex(text), 0)
    message = decode_struct(reader, layout_of(made.schema, version), made.codec.classes)
    assert reader.offset == len(bytes.fromhex(text))
    return message


BY_HAND: list[tuple[Any, int, str]] = [
    # classic: count i32, strings i16
    (MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="ab")]), 1, "00 00 00 01 00 02 61 62"),
    (MetadataRequest(topics=None), 1, "ff ff ff ff"),
    # flexible: count + 1, length + 1, tags after every struct
    (MetadataRequest(topics=None), 9, "00 01 00 00 00"),
    (
        MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="ab")], allow_auto_topic_creation=False),
        11,
        "02 " + "00 " * 16 + "03 61 62 00 00 00 00",
    ),
    # KIP-1242: cluster id nullable, node id -1
    (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 5, "02 61 02 31 00 ff ff ff ff 00"),
    (ApiVersionsRequest(cluster_id="c", node_id=7), 5, "01 01 02 63 00 00 00 07 00"),
    # a tagged int8 (tag 0, size 1) at the end of the root
    (UpdateMetadataRequest(type=1), 8, "00 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff 01 01 01 00 01 01"),
    # a nullable struct: -1 alone, or 1 before it
    (DescribeTopicPartitionsRequest(), 0, "01 00 00 07 d0 ff 00"),
    (
        DescribeTopicPartitionsRequest(cursor=DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=3)),
        0,
        "01 00 00 07 d0 01 02 74 00 00 00 03 00 00",
    ),
    # an array of numbers
    (
        StopReplicaRequest(
            controller_id=1,
            controller_epoch=2,
            broker_epoch=3,
            delete_partitions=True,
            topics=[StopReplicaRequest.StopReplicaTopicV1(name="t", partition_indexes=[4, 5])],
        ),
        1,
        "00 00 00 01 00 00 00 02 00 00 00 00 00 00 00 03 01 00 00 00 01 00 01 74 00 00 00 02 00 00 00 04 00 00 00 05",
    ),
]


@pytest.mark.parametrize(("message", "version", "wanted"), BY_HAND)
def test_bytes_by_hand(message: Any, version: int, wanted: str) -> None:
    assert write(message, version) == wanted.strip()
    assert read(type(message), version, wanted) == message
    assert message.encode(version).hex(" ") == wanted.strip()


def test_unknown_tags_are_kept_and_written_in_order() -> None:
    text = "00 01 00 00 02 05 01 aa 81 01 02 bb cc"
    message = read(MetadataRequest, 9, text)
    assert message.unknown_tags == {5: b"\xaa", 129: b"\xbb\xcc"}
    assert write(message, 9) == text


@pytest.mark.parametrize(
    ("made", "version", "text", "words"),
    [
        (MetadataRequest, 1, "00 00 00 01 ff ff", "null"),
        (MetadataRequest, 1, "00 00 00 09 00", "9 elements"),
        (MetadataRequest, 1, "00 00 00 01 00 05 61", "5 bytes needed"),
        (UpdateMetadataRequest, 8, "00 " * 17 + "01 01 01 00 02 01 01", "longer than its value"),
        (ApiVersionsRequest, 3, "81 80 02", "32767"),
    ],
)
def test_decode_errors_name_the_field(made: Any, version: int, text: str, words: str) -> None:
    with pytest.raises(DecodeError, match=words):
        read(made, version, text)


@pytest.mark.parametrize(
    ("message", "version", "words"),
    [
        (FetchRequest(forgotten_topics_data=[FetchRequest.ForgottenTopic()]), 6, r"FetchRequest\.ForgottenTopicsData"),
        (FetchRequest(topics=[FetchRequest.FetchTopic(topic="x" * 40000)]), 11, r"Topics\[0\]\.Topic has 40000 bytes"),
        (FetchRequest(topics=[FetchRequest.FetchTopic(topic=None)]), 11, r"Topics\[0\]\.Topic is None"),  # type: ignore[arg-type]
        (FetchRequest(max_wait_ms=1 << 31), 11, "MaxWaitMs = 2147483648"),
        (FetchRequest(rack_id="\ud800"), 11, "RackId"),
        (FetchRequest(unknown_tags={0: b"x"}, cluster_id="c"), 12, "tag 0, which is ClusterId"),
        (MetadataRequest(topics=None), 0, "Topics is None"),
    ],
)
def test_encode_errors_name_the_path_of_the_field(message: Any, version: int, words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        write(message, version)


def test_equals_default_knows_fresh_arrays_and_structs_of_defaults() -> None:
    assert equals_default([], ())
    assert not equals_default([1], ())
    assert not equals_default(None, ())
    assert equals_default(FetchRequest.ReplicaState(), ())
    assert not equals_default(FetchRequest.ReplicaState(replica_id=3), ())
    assert equals_default(-1, -1)
    assert equals_default(None, None)
