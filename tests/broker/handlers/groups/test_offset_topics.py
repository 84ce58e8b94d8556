from __future__ import annotations

import pytest

from signalbox.broker.handlers.groups.offset_topics import OffsetTopics
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.security.acl import AclOperation
from tests.broker.handler_requests import acl, cache_of, request_of, topic_id

_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
TOPICS = {"t": {0: (1, [1])}, "secret": {0: (1, [1])}}


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("t", 9, (Error.NONE, "t")),
        ("secret", 9, (Error.TOPIC_AUTHORIZATION_FAILED, "secret")),
        ("t", 10, (Error.NONE, "t")),
        ("secret", 10, (Error.TOPIC_AUTHORIZATION_FAILED, "secret")),
        ("nowhere", 10, (Error.UNKNOWN_TOPIC_ID, "")),
    ],
)
def test_names_and_errors(name: str, version: int, expected: tuple[Error, str]) -> None:
    """By name before version 10, by id from it on. Whether a named topic exists is the coordinator's decision."""
    topics = OffsetTopics(cache_of(topics=TOPICS), acl(("alice", "READ", "t")), AclOperation.READ, ids_from=10)
    request = request_of(OffsetCommitRequest(topics=[_Topic(name=name, topic_id=topic_id(name))]), version)
    (topic,) = request.body.topics
    assert (topics.error(request, topic), topic.name) == expected
    assert topics.may(request, name) is (name == "t")
