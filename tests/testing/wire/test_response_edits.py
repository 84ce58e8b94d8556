"""Changes of responses."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.testing.wire.response_edits import (
    FetchedPartitions,
    capped,
    edited,
    has_throttle_time,
    throttled,
    topic_in_fetch,
    topic_in_metadata,
)

pytestmark = pytest.mark.spec("R7")

ID = b"i" * 16


def test_a_frame_is_changed_in_its_version() -> None:
    head = encode_response_header(ApiKey.METADATA, 9, 7)
    frame = head + MetadataResponse(throttle_time_ms=30, cluster_id="c").encode(9)
    changed = edited(frame, ApiKey.METADATA, 9, throttled(50))
    assert changed == head + MetadataResponse(throttle_time_ms=50, cluster_id="c").encode(9)
    assert edited(frame, ApiKey.METADATA, 9, throttled(10)) == frame
    assert edited(b"?", ApiKey.METADATA, 9, throttled(10)) == b"?"


def test_apis_with_a_throttle_time() -> None:
    assert has_throttle_time(ApiKey.PRODUCE)
    assert not has_throttle_time(ApiKey.SASL_HANDSHAKE)


def test_versions_are_capped() -> None:
    row = ApiVersionsResponse.ApiVersion
    response = ApiVersionsResponse(
        api_keys=[row(api_key=key, min_version=0, max_version=9) for key in (ApiKey.METADATA, ApiKey.FETCH, 999)]
    )
    capped({ApiKey.METADATA: (2, 7), ApiKey.FETCH: (0, -1)})(response)
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [
        (3, 2, 7), (999, 0, 9)
    ]  # fmt: skip


def test_one_topic_has_an_error_in_metadata() -> None:
    row = MetadataResponse.MetadataResponseTopic
    partition = MetadataResponse.MetadataResponsePartition()
    response = MetadataResponse(topics=[row(name=name, partitions=[partition]) for name in ("a", "b")])
    topic_in_metadata("a", Error.LEADER_NOT_AVAILABLE, {})(response)
    assert [(each.error_code, len(each.partitions)) for each in response.topics] == [(5, 0), (0, 1)]


def fetch(epoch: int, topics: dict[str, list[int]], forgotten: dict[str, list[int]] | None = None) -> Any:
    return FetchRequest(
        session_epoch=epoch,
        topics=[
            FetchRequest.FetchTopic(
                topic=name, partitions=[FetchRequest.FetchPartition(partition=number) for number in numbers]
            )
            for name, numbers in topics.items()
        ],
        forgotten_topics_data=[
            FetchRequest.ForgottenTopic(topic=name, partitions=numbers) for name, numbers in (forgotten or {}).items()
        ],
    )


def test_a_fetch_session_has_the_partitions_of_its_requests() -> None:
    session = FetchedPartitions()
    none = b"\0" * 16
    assert session.after(fetch(0, {"a": [0, 1], "b": [0]})) == {("a", none): {0, 1}, ("b", none): {0}}
    assert session.after(fetch(1, {"b": [2]}, {"a": [0]})) == {("a", none): {1}, ("b", none): {0, 2}}
    assert session.after(fetch(2, {}, {"a": [1]})) == {("b", none): {0, 2}}
    assert session.after(fetch(-1, {"c": [0]})) == {("c", none): {0}}


def test_one_topic_has_an_error_in_fetch_also_if_the_response_leaves_it_out() -> None:
    row, partition = FetchResponse.FetchableTopicResponse, FetchResponse.PartitionData
    response = FetchResponse(responses=[row(topic="b", partitions=[partition(partition_index=0, records=b"r")])])
    partitions = {("", ID): {1, 0}, ("b", b"\0" * 16): {0}}
    topic_in_fetch("a", Error.NOT_LEADER_OR_FOLLOWER, {ID: "a"}, partitions)(response)
    assert [each.topic for each in response.responses] == ["b", ""]
    assert response.responses[1].topic_id == ID
    assert [(each.partition_index, each.error_code, each.records) for each in response.responses[1].partitions] == [
        (0, 6, b""), (1, 6, b"")
    ]  # fmt: skip
