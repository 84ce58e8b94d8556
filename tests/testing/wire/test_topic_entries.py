"""The topics of requests."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.testing.wire.topic_entries import has_topics, join, note_ids, split, topics_of

pytestmark = pytest.mark.spec("R7")

ID, UNKNOWN = b"i" * 16, b"u" * 16
NAMES = {ID: "by-id"}


@pytest.mark.parametrize(
    ("body", "topics"),
    [
        (ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="a")]), {"a"}),
        (ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(topic_id=ID)]), {"by-id"}),
        (ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(topic_id=UNKNOWN)]), set()),
        (
            FetchRequest(
                topics=[FetchRequest.FetchTopic(topic="a")],
                forgotten_topics_data=[FetchRequest.ForgottenTopic(topic="b")],
            ),
            {"a"},
        ),
        (
            OffsetFetchRequest(
                groups=[
                    OffsetFetchRequest.OffsetFetchRequestGroup(
                        group_id="g", topics=[OffsetFetchRequest.OffsetFetchRequestTopics(name="a")]
                    )
                ]
            ),
            {"a"},
        ),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="a", partitions=[0])]
            ),
            {"a"},
        ),
        (
            CreateTopicsRequest(
                topics=[
                    CreateTopicsRequest.CreatableTopic(
                        name="a", configs=[CreateTopicsRequest.CreatableTopicConfig(name="b", value="c")]
                    )
                ]
            ),
            {"a"},
        ),
        (DeleteTopicsRequest(topic_names=["a", "b"]), {"a", "b"}),
        (MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=None, topic_id=ID)]), {"by-id"}),
        (MetadataRequest(topics=None), set()),
        (JoinGroupRequest(protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range")]), set()),
    ],
)
def test_topics_by_name_and_id(body: Any, topics: set[str]) -> None:
    assert topics_of(body, NAMES) == topics


def test_apis_with_and_without_topics() -> None:
    assert all(has_topics(api) for api in (ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT, ApiKey.DELETE_TOPICS))
    assert not any(has_topics(api) for api in (ApiKey.JOIN_GROUP, ApiKey.HEARTBEAT, ApiKey.API_VERSIONS))


def test_a_request_is_divided_and_its_responses_are_joined() -> None:
    topic = ListOffsetsRequest.ListOffsetsTopic
    body = ListOffsetsRequest(replica_id=-1, topics=[topic(name="a"), topic(name="b"), topic(name="c")])
    divided = split(body, "b", {})
    assert divided is not None
    others, own = divided
    assert [[row.name for row in part.topics] for part in (body, others, own)] == [["a", "b", "c"], ["a", "c"], ["b"]]
    row = ListOffsetsResponse.ListOffsetsTopicResponse
    response = ListOffsetsResponse(topics=[row(name="a"), row(name="c")])
    join(response, ListOffsetsResponse(topics=[row(name="b")]))
    assert [each.name for each in response.topics] == ["a", "c", "b"]


def test_a_request_about_one_topic_alone_is_not_divided() -> None:
    body = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name="a")])
    assert split(body, "a", {}) is None
    assert split(OffsetFetchRequest(groups=[]), "a", {}) is None


def test_ids_are_noted_from_metadata() -> None:
    names: dict[bytes, str] = {}
    row = MetadataResponse.MetadataResponseTopic
    note_ids(MetadataResponse(topics=[row(name="a", topic_id=ID), row(name="old")]), names)
    assert names == {ID: "a"}
