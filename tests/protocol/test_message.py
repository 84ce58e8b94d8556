from __future__ import annotations

import copy
import pickle

import pytest

from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest


def test_an_unset_field_has_the_default_of_kafka() -> None:
    request = FetchRequest()
    assert (request.replica_id, request.max_bytes, request.session_epoch) == (-1, 0x7FFFFFFF, -1)
    assert (request.cluster_id, request.rack_id, request.topics) == (None, "", [])
    assert request.replica_state == FetchRequest.ReplicaState(replica_id=-1, replica_epoch=-1)
    assert FetchRequest.FetchTopic().topic_id == bytes(16)
    assert ProduceRequest.PartitionProduceData().records is None
    assert MetadataRequest().topics == []
    assert request.unknown_tags is None


def test_lists_are_not_shared_between_instances() -> None:
    one, other = FetchRequest(), FetchRequest()
    one.topics.append(FetchRequest.FetchTopic())
    assert other.topics == []
    read = FetchRequest.decode(FetchRequest().encode(4), 4)
    read.forgotten_topics_data.append(FetchRequest.ForgottenTopic())
    assert FetchRequest.decode(FetchRequest().encode(4), 4).forgotten_topics_data == []


def test_messages_are_equal_by_their_fields() -> None:
    assert FetchRequest(max_wait_ms=5) == FetchRequest(max_wait_ms=5)
    assert FetchRequest(max_wait_ms=5) != FetchRequest(max_wait_ms=6)
    assert FetchRequest(unknown_tags={1: b"x"}) != FetchRequest()
    assert FetchRequest(unknown_tags={}) == FetchRequest()
    assert FetchRequest() != FetchResponse()
    assert FetchRequest() != "FetchRequest"


def test_messages_are_mutable_and_so_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(FetchRequest())


def test_a_misspelt_field_is_rejected() -> None:
    with pytest.raises(TypeError, match="max_wait"):
        FetchRequest(max_wait=5)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        FetchRequest().max_wait = 5  # type: ignore[attr-defined]


def test_a_message_prints_as_it_would_be_written() -> None:
    topic = FetchRequest.ForgottenTopic(topic="t", partitions=[1])
    assert repr(topic) == f"FetchRequest.ForgottenTopic(topic='t', topic_id={bytes(16)!r}, partitions=[1])"
    assert repr(FetchRequest.ForgottenTopic(unknown_tags={4: b"x"})).endswith("unknown_tags={4: b'x'})")


def test_the_default_struct_is_shared_and_rejects_changes() -> None:
    request = FetchRequest()
    with pytest.raises(AttributeError, match="assign a new one"):
        request.replica_state.replica_id = 3
    request.replica_state = FetchRequest.ReplicaState(replica_id=3)
    assert FetchRequest().replica_state.replica_id == -1
    assert FetchRequest.decode(request.encode(15), 15).replica_state.replica_id == 3


def test_a_decoded_struct_may_be_changed() -> None:
    sent = FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=3))
    read = FetchRequest.decode(sent.encode(15), 15)
    read.replica_state.replica_id = 4
    assert sent.replica_state.replica_id == 3


def test_copies_and_pickles() -> None:
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t")])
    copied = copy.deepcopy(request)
    copied.replica_state.replica_id = 8
    copied.topics[0].topic = "u"
    assert (request.topics[0].topic, request.replica_state.replica_id) == ("t", -1)
    assert pickle.loads(pickle.dumps(request)) == request


def test_a_class_has_its_versions() -> None:
    assert (FetchRequest.api_key, FetchRequest.min_version, FetchRequest.max_version) == (1, 4, 18)
    assert 12 in FetchRequest.flexible_versions
    assert 11 not in FetchRequest.flexible_versions
    assert FetchRequest.FetchTopic.__qualname__ == "FetchRequest.FetchTopic"
    assert FetchRequest.__module__ == "signalbox.protocol.messages.fetch"
