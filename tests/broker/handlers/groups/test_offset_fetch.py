"""OffsetFetch at a real coordinator: one group or many, by name or id, only topics that the client may describe."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.groups.offset_commit import OffsetCommitHandler
from signalbox.broker.handlers.groups.offset_fetch import OffsetFetchHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

UNKNOWN = b"\7" * 16
SEES_A = (("alice", "DESCRIBE", "group:of"), ("alice", "READ", "of-a"))


@pytest.fixture(scope="module", autouse=True)
def committed(running_broker: RunningBroker) -> None:
    """Group `of` has committed offset 5 in of-a-0 and of-b-0."""
    running_broker.open_coordinator()
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topics = []
    for name in ("of-a", "of-b"):
        running_broker.create_topic(name)
        topics.append(OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[partition]))
    handler = OffsetCommitHandler(
        running_broker.components.data.coordinator, running_broker.components.cache, ALLOW_ALL
    )
    response = running_broker.answer(handler, request_of(OffsetCommitRequest(group_id="of", topics=topics), 9))
    assert {p.error_code for topic in response.topics for p in topic.partitions} == {0}


def ask(running_broker: RunningBroker, body: OffsetFetchRequest, version: int, authorizer: Any = ALLOW_ALL) -> Any:
    handler = OffsetFetchHandler(
        running_broker.components.data.coordinator, running_broker.components.cache, authorizer
    )
    return running_broker.answer(handler, request_of(body, version))


def single(*names: str) -> OffsetFetchRequest:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic
    return OffsetFetchRequest(group_id="of", topics=[topic(name=name, partition_indexes=[0]) for name in names])


def groups(*asked: tuple[str, list[str] | None]) -> OffsetFetchRequest:
    group, topic = OffsetFetchRequest.OffsetFetchRequestGroup, OffsetFetchRequest.OffsetFetchRequestTopics
    return OffsetFetchRequest(
        groups=[
            group(
                group_id=name,
                topics=None if names is None else [topic(name=each, partition_indexes=[0]) for each in names],
            )
            for name, names in asked
        ]
    )


def found(response: Any) -> dict[str, tuple[int, int]]:
    return {t.name: (p.committed_offset, p.error_code) for t in response.topics for p in t.partitions}


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group(running_broker: RunningBroker, version: int) -> None:
    assert found(ask(running_broker, single("of-a", "of-b", "of-nope"), version, acl(*SEES_A))) == {
        "of-a": (5, 0),
        "of-b": (-1, Error.TOPIC_AUTHORIZATION_FAILED),
        "of-nope": (-1, Error.TOPIC_AUTHORIZATION_FAILED),
    }
    assert found(ask(running_broker, single("of-nope"), version)) == {"of-nope": (-1, 0)}


@pytest.mark.parametrize("version", range(2, 8))
def test_all_topics_that_may_be_seen(running_broker: RunningBroker, version: int) -> None:
    body = OffsetFetchRequest(group_id="of", topics=None)
    assert found(ask(running_broker, body, version)) == {"of-a": (5, 0), "of-b": (5, 0)}
    assert found(ask(running_broker, body, version, acl(*SEES_A))) == {"of-a": (5, 0)}


@pytest.mark.parametrize("version", range(1, 8))
def test_a_group_that_may_not_be_seen(running_broker: RunningBroker, version: int) -> None:
    response = ask(running_broker, single("of-a"), version, acl(("alice", "READ", "of-a")))
    codes = [response.error_code] if version >= 2 else [code for _, code in found(response).values()]
    assert codes == [Error.GROUP_AUTHORIZATION_FAILED]


@pytest.mark.parametrize("version", [8, 9])
def test_many_groups(running_broker: RunningBroker, version: int) -> None:
    body = groups(("of", ["of-a", "of-b"]), ("secret", ["of-a"]), ("of-other", None))
    authorizer = acl(*SEES_A, ("alice", "DESCRIBE", "group:of-other"))
    response = ask(running_broker, body, version, authorizer)
    by_id = {group.group_id: group for group in response.groups}
    assert found(by_id["of"]) == {"of-a": (5, 0), "of-b": (-1, Error.TOPIC_AUTHORIZATION_FAILED)}
    assert (by_id["secret"].error_code, by_id["secret"].topics) == (Error.GROUP_AUTHORIZATION_FAILED, [])
    assert (by_id["of-other"].error_code, by_id["of-other"].topics) == (0, [])
    assert found(ask(running_broker, groups(("of", None)), version, acl(*SEES_A)).groups[0]) == {"of-a": (5, 0)}


def test_by_id_from_version_10(running_broker: RunningBroker) -> None:
    group, topic = OffsetFetchRequest.OffsetFetchRequestGroup, OffsetFetchRequest.OffsetFetchRequestTopics
    known, forbidden = running_broker.topic_id("of-a"), running_broker.topic_id("of-b")
    asked = [topic(topic_id=topic_id, partition_indexes=[0]) for topic_id in (known, UNKNOWN, bytes(16), forbidden)]
    [response] = ask(
        running_broker, OffsetFetchRequest(groups=[group(group_id="of", topics=asked)]), 10, acl(*SEES_A)
    ).groups
    assert {t.topic_id: (p.committed_offset, p.error_code) for t in response.topics for p in t.partitions} == {
        known: (5, 0),
        UNKNOWN: (-1, Error.UNKNOWN_TOPIC_ID),
        bytes(16): (-1, Error.UNKNOWN_TOPIC_ID),
        forbidden: (-1, Error.TOPIC_AUTHORIZATION_FAILED),
    }
    [response] = ask(running_broker, OffsetFetchRequest(groups=[group(group_id="of", topics=None)]), 10).groups
    assert {t.topic_id for t in response.topics} == {known, forbidden}
