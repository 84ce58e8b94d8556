from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.fast_path.fetch_template import ParsedFetch, SessionTemplate, parse_fetch
from signalbox.common.limits import MAX_SESSION_RESPONSE_TEMPLATES
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import decode_request_header, encode_request_header
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.fetch.fetch import fetch_params
from signalbox.replication.fetch.fetch_session import FetchKey
from signalbox.replication.fetch.session_fetches import SessionRequest


def parsed(version: int, *offsets: int, **fields: Any) -> ParsedFetch | None:
    partitions = [FetchRequest.FetchPartition(partition=index, fetch_offset=at) for index, at in enumerate(offsets)]
    topics = [FetchRequest.FetchTopic(topic="t", topic_id=bytes(15) + b"\1", partitions=partitions)] if offsets else []
    body = FetchRequest(**{"session_epoch": -1, "topics": topics, **fields})
    frame = memoryview(encode_request_header(ApiKey.FETCH, version, 1, "c") + body.encode(version))
    return parse_fetch(frame, version, decode_request_header(frame)[1])


@pytest.mark.parametrize("version", range(4, 19))
def test_the_key_does_not_depend_on_the_offset(version: int) -> None:
    one, other = parsed(version, 3), parsed(version, 300)
    assert one is not None
    assert other is not None
    assert (one.key, one.layout) == (other.key, other.layout)


@pytest.mark.parametrize("version", range(7, 19))
def test_the_key_of_a_session_does_not_depend_on_epoch_and_offsets(version: int) -> None:
    one = parsed(version, 3, 4, session_id=5, session_epoch=1)
    other = parsed(version, 30, 40, session_id=5, session_epoch=2)
    assert one is not None
    assert other is not None
    assert (one.key, one.layout) == (other.key, other.layout)
    assert parsed(version, session_id=5, session_epoch=1) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"session_epoch": 0},
        {"session_id": 5},
        {"session_id": 5, "session_epoch": 0},
        {"session_epoch": 3},
        {"isolation_level": 3},
        {"replica_id": 2},
        {"forgotten_topics_data": [FetchRequest.ForgottenTopic(topic="t", partitions=[1])]},
    ],
)
def test_other_requests_have_no_template(fields: dict[str, object]) -> None:
    assert parsed(12, 3, **fields) is None


def test_a_topic_without_partitions_before_the_one_with_a_partition_has_no_template() -> None:
    topic = FetchRequest.FetchTopic(topic="t", partitions=[FetchRequest.FetchPartition(partition=0)])
    for topics in ([FetchRequest.FetchTopic(topic="empty"), topic], [topic, FetchRequest.FetchTopic(topic="empty")]):
        assert parsed(12, 3, topics=topics) is None
    assert parsed(12, 3, topics=[topic]) is not None


def test_nine_partitions_have_no_template() -> None:
    assert parsed(12, *range(9), session_id=5, session_epoch=1) is None
    assert parsed(12, 1, 2) is None


def test_a_session_of_any_size_stores_a_limited_number_of_responses() -> None:
    found = parsed(12, session_id=5, session_epoch=1)
    assert found is not None
    params = fetch_params(FetchRequest(), 12, 100, skips_unchanged=True)
    template = SessionTemplate(found.key, found.layout, SessionRequest(5, None, (), params, 0))
    keys = [FetchKey("t", bytes(16), index) for index in range(MAX_SESSION_RESPONSE_TEMPLATES + 1)]
    first = template.response_of(keys[0], 12)
    assert template.response_of(keys[0], 12) is first is not None
    for key in keys[1:-1]:
        template.response_of(key, 12)
    assert template.response_of(keys[0], 12) is first
    template.response_of(keys[-1], 12)
    assert template.response_of(keys[0], 12) is not first, "forgotten with the others"
