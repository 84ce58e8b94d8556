"""A connection through a line with rules, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_request_header, decode_response_header, encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.testing.switchboard_rewrite import WireRewrite, framed
from signalbox.testing.wire.request_rule import LineRules, PresentedIdentity, RequestRule, RuleAction, SeenRequest
from signalbox.testing.wire.rule_session import RuleSession, Step

pytestmark = pytest.mark.spec("R7")


def request(body: Any, version: int, number: int, client_id: str = "c") -> bytes:
    """A framed request; `number` is its correlation id."""
    api = next(row.key for row in API_TABLE.values() if isinstance(body, row.request))
    return framed(encode_request_header(api, version, number, client_id) + body.encode(version))


def metadata(number: int) -> bytes:
    return request(MetadataRequest(topics=None), 4, number)


def produce(number: int, acks: int = -1) -> bytes:
    topic = ProduceRequest.TopicProduceData(
        name="t", partition_data=[ProduceRequest.PartitionProduceData(index=0, records=None)]
    )
    return request(ProduceRequest(acks=acks, timeout_ms=1, topic_data=[topic]), 7, number)


def response(number: int, text: bytes = b"!") -> bytes:
    return framed(number.to_bytes(4, "big") + text)


def session(*rules: RequestRule, identity: PresentedIdentity | None = None) -> tuple[RuleSession, LineRules]:
    line = LineRules(rules=list(rules), identity=identity)
    return RuleSession("broker-1", line), line


def given(step: Step) -> list[bytes]:
    """The responses for the caller."""
    return [frame for frame, _ in step.to_caller]


def test_without_rules_everything_passes_in_any_pieces() -> None:
    relay, line = session()
    stream = metadata(1) + produce(2)
    steps = [relay.requests(stream[index : index + 3], None) for index in range(0, len(stream), 3)]
    assert b"".join(bytes(step.to_target) for step in steps) == stream
    assert given(relay.responses(response(1) + response(2)[:5])) == [response(1)]
    assert given(relay.responses(response(2)[5:])) == [response(2)]
    assert list(line.log) == [
        SeenRequest("broker-1", ApiKey.METADATA, 4, "c"), SeenRequest("broker-1", ApiKey.PRODUCE, 7, "c")
    ]  # fmt: skip


def test_an_error_waits_for_the_responses_of_earlier_requests() -> None:
    rule = RequestRule(RuleAction.ERROR, ApiKey.PRODUCE, error=Error.NOT_LEADER_OR_FOLLOWER)
    relay, _ = session(rule)
    step = relay.requests(metadata(1) + produce(2) + metadata(3), None)
    assert bytes(step.to_target) == metadata(1) + metadata(3)
    assert given(step) == []
    first, second = given(relay.responses(response(1)))
    assert first == response(1)
    number, offset = decode_response_header(second[4:], ApiKey.PRODUCE, 7)
    decoded = API_TABLE[ApiKey.PRODUCE].response.decode(second[4:], 7, offset)
    assert number == 2
    assert decoded.responses[0].name == "t"
    assert decoded.responses[0].partition_responses[0].error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert given(relay.responses(response(3))) == [response(3)]


def test_a_response_is_delayed() -> None:
    relay, _ = session(RequestRule(RuleAction.DELAY, ApiKey.METADATA, delay_ms=250))
    relay.requests(metadata(1) + metadata(2), None)
    assert relay.responses(response(1) + response(2)).to_caller == [(response(1), 0.25), (response(2), 0.0)]


@pytest.mark.parametrize(("action", "reaches_broker"), [(RuleAction.STALL, True), (RuleAction.DROP, False)])
def test_after_a_missing_response_none_follows(action: RuleAction, reaches_broker: bool) -> None:
    relay, _ = session(RequestRule(action, ApiKey.METADATA, first=2))
    step = relay.requests(metadata(1) + metadata(2) + metadata(3), None)
    assert bytes(step.to_target) == metadata(1) + (metadata(2) if reaches_broker else b"") + metadata(3)
    assert given(relay.responses(response(1) + response(2) + response(3))) == [response(1)]
    assert not step.cut


def test_a_connection_is_cut_before_or_after_the_broker_has_the_request() -> None:
    relay, _ = session(RequestRule(RuleAction.CUT_BEFORE, ApiKey.PRODUCE))
    step = relay.requests(metadata(1) + produce(2) + metadata(3), None)
    assert (bytes(step.to_target), step.cut) == (metadata(1), True)
    relay, _ = session(RequestRule(RuleAction.CUT_AFTER, ApiKey.PRODUCE))
    step = relay.requests(metadata(1) + produce(2), None)
    assert (bytes(step.to_target), step.cut) == (metadata(1) + produce(2), False)
    step = relay.responses(response(1) + response(2))
    assert (given(step), step.cut) == ([response(1)], True)


@pytest.mark.parametrize(
    ("action", "reaches_broker", "cut"),
    [
        (None, True, False),
        (RuleAction.ERROR, False, True),
        (RuleAction.CUT_BEFORE, False, True),
        (RuleAction.CUT_AFTER, True, True),
        (RuleAction.DROP, False, False),
        (RuleAction.STALL, True, False),
    ],
)
def test_produce_without_acknowledgement_has_no_response(
    action: RuleAction | None, reaches_broker: bool, cut: bool
) -> None:
    rules = [RequestRule(action, ApiKey.PRODUCE, error=Error.UNKNOWN_SERVER_ERROR)] if action is not None else []
    relay, _ = session(*rules)
    step = relay.requests(produce(1, acks=0) + metadata(2), None)
    after = b"" if cut else metadata(2)
    assert (bytes(step.to_target), step.cut) == ((produce(1, acks=0) if reaches_broker else b"") + after, cut)
    if not cut:
        assert given(relay.responses(response(2))) == [response(2)]


def versions(cluster_id: str | None, node_id: int) -> bytes:
    body = ApiVersionsRequest(
        client_software_name="n", client_software_version="1", cluster_id=cluster_id, node_id=node_id
    )
    return request(body, 5, 1)


def test_the_identity_of_the_line_replaces_that_of_the_broker() -> None:
    relay, line = session(identity=PresentedIdentity(node_id=7))
    rejected = relay.requests(versions("A", 1), None)
    assert not rejected.to_target
    [frame] = given(rejected)
    assert ApiVersionsResponse.decode(frame[4:], 5, 4).error_code == Error.REBOOTSTRAP_REQUIRED
    accepted = bytes(relay.requests(versions("A", 7), None).to_target)
    _, offset = decode_request_header(accepted[4:])
    passed_on = ApiVersionsRequest.decode(accepted[4:], 5, offset)
    assert (passed_on.cluster_id, passed_on.node_id) == (None, -1)
    assert passed_on.client_software_name == "n"
    assert [(each.cluster_id, each.node_id) for each in line.log] == [("A", 1), ("A", 7)]


def test_clients_without_identity_are_not_compared() -> None:
    relay, _ = session(identity=PresentedIdentity(node_id=7))
    assert bytes(relay.requests(versions(None, -1), None).to_target) == versions(None, -1)


def test_a_rewrite_applies_from_the_next_request_on() -> None:
    relay, _ = session()
    ask = [request(DescribeClusterRequest(), 0, number) for number in (1, 2, 3)]
    answers = []
    for number, rewrite in ((1, None), (2, WireRewrite(cluster_id="shown")), (3, None)):
        relay.requests(ask[number - 1], rewrite)
        head = number.to_bytes(4, "big") + b"\0"
        answers += given(relay.responses(framed(head + DescribeClusterResponse(cluster_id="true").encode(0))))
    decoded = [DescribeClusterResponse.decode(frame[4:], 0, 5).cluster_id for frame in answers]
    assert decoded == ["true", "shown", "true"]


def test_tokens_and_unknown_versions_pass() -> None:
    relay, line = session(RequestRule(RuleAction.ERROR, ApiKey.METADATA, error=Error.UNKNOWN_SERVER_ERROR, times=None))
    token = framed(b"\0alice\0secret")
    newer = framed(encode_request_header(ApiKey.METADATA, 99, 4, "c") + b"??")
    assert bytes(relay.requests(token + newer, None).to_target) == token + newer
    assert [each.version for each in line.log] == [99]
    assert given(relay.responses(framed(b""))) == [framed(b"")]
