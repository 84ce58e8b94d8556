"""Every request ends exactly once, whatever its handler does: with a response, without one, or with a close."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from signalbox.broker.api_request import NO_RESPONSE, ApiRequest, CloseConnection, RawResponse
from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.routes import Route
from signalbox.common.log_limiter import current_source
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import RequestHeader
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from signalbox.protocol.messages.heartbeat import HeartbeatResponse
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.broker.routed_requests import (
    ROWS,
    Broken,
    Inbound,
    RunningBroker,
    create_topics,
    fails,
    fails_later,
    heartbeat,
    produce,
    run_loop,
)


def test_an_answer_now() -> None:
    running_broker = RunningBroker(lambda request: HeartbeatResponse(error_code=25))
    inbound = running_broker.submit(heartbeat())
    assert inbound.answer.error_code == 25
    assert running_broker.observer.seen == [("HEARTBEAT", len(inbound.ends[0]))]


def test_an_answer_later_by_coroutine_and_by_pending() -> None:
    async def scenario() -> None:
        async def later(request: ApiRequest) -> Any:
            await asyncio.sleep(0)
            return HeartbeatResponse(error_code=26)

        inbound = RunningBroker(later).submit(heartbeat())
        assert inbound.ends == []
        await run_loop()
        assert inbound.answer.error_code == 26

        pending: Promise[Any] = Promise()
        inbound = RunningBroker(lambda request: pending).submit(heartbeat())
        assert inbound.ends == []
        pending.complete(HeartbeatResponse(error_code=27))
        assert inbound.answer.error_code == 27

        failed = Promise[Any].failed(KafkaError(Error.NOT_COORDINATOR))
        inbound = RunningBroker(lambda request: failed).submit(heartbeat())
        assert inbound.answer.error_code == Error.NOT_COORDINATOR

    asyncio.run(scenario())


def test_the_connection_of_a_replica_fetcher_has_the_share_of_replication() -> None:
    def answer(request: ApiRequest) -> Any:
        request.replicates = request.header.client_id == "fetcher"
        return HeartbeatResponse()

    running_broker = RunningBroker(answer)
    assert not running_broker.submit(heartbeat()).connection.channel.carries_replication
    fetcher = heartbeat()
    fetcher.header = fetcher.header._replace(client_id="fetcher")
    assert running_broker.submit(fetcher).connection.channel.carries_replication


def test_the_answers_that_are_no_messages() -> None:
    assert RunningBroker(lambda request: NO_RESPONSE).submit(heartbeat()).ends == [None]
    assert RunningBroker(lambda request: RawResponse(b"xy")).submit(heartbeat()).ends == [b"xy"]
    assert RunningBroker(lambda request: CloseConnection("why")).submit(heartbeat()).closed_for == "why"


@pytest.mark.parametrize("how", [fails, fails_later])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError(Error.GROUP_AUTHORIZATION_FAILED), Error.GROUP_AUTHORIZATION_FAILED),
        (ValueError("a bug"), Error.UNKNOWN_SERVER_ERROR),
        (KeyError("a bug"), Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_handler_that_fails_is_answered_for(how: Any, error: Exception, code: Error) -> None:
    async def scenario() -> None:
        inbound = RunningBroker(how(error)).submit(heartbeat())
        await run_loop()
        assert inbound.answer.error_code == code

    asyncio.run(scenario())


@pytest.mark.parametrize("how", [fails, fails_later])
def test_without_acknowledgements_a_failure_closes(how: Any) -> None:
    async def scenario() -> None:
        inbound = RunningBroker(how(KafkaError(Error.INVALID_REQUEST))).submit(produce(acks=0))
        await run_loop()
        assert "INVALID_REQUEST" in inbound.closed_for

    asyncio.run(scenario())


@pytest.mark.parametrize("later", [False, True])
def test_an_answer_without_bytes_closes_the_connection_instead_of_muting_it(later: bool) -> None:
    async def scenario() -> None:
        async def coroutine(request: ApiRequest) -> Any:
            return Broken()

        running_broker = RunningBroker(coroutine if later else lambda request: Broken())
        inbound = running_broker.submit(heartbeat())
        await run_loop()
        assert inbound.closed_for == "internal error"

    asyncio.run(scenario())


def test_a_field_the_version_lacks_becomes_an_error_answer() -> None:
    response = CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name=None)])  # type: ignore[arg-type]
    inbound = RunningBroker(lambda request: response).submit(create_topics())
    assert [topic.error_code for topic in inbound.answer.topics] == [Error.UNKNOWN_SERVER_ERROR]


@pytest.mark.spec("D1")
def test_a_response_with_a_string_that_is_too_long_closes_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The text of a malformed string has three bytes for each of its bytes. As in Kafka the client gets an error, if
    that does not contain the string."""
    result = CreateTopicsResponse.CreatableTopicResult(name="\ufffd" * 10_923)
    inbound = RunningBroker(lambda request: CreateTopicsResponse(topics=[result])).submit(create_topics())
    assert [topic.error_code for topic in inbound.answer.topics] == [Error.UNKNOWN_SERVER_ERROR]

    body = DescribeGroupsRequest(groups=["g"]).encode(0).replace(b"\0\x01g", (10_923).to_bytes(2) + b"\xff" * 10_923)
    described = Inbound(RequestHeader(ApiKey.DESCRIBE_GROUPS, 0, 5, "c"), body)
    group = DescribeGroupsResponse.DescribedGroup(group_id="\ufffd" * 10_923)
    RunningBroker(lambda request: DescribeGroupsResponse(groups=[group])).submit(described)
    assert described.closed_for.startswith("DESCRIBE_GROUPS: the response cannot be encoded")
    assert "32769 bytes, 32767 are allowed" in described.closed_for
    assert caplog.records == []


@pytest.mark.spec("D1")
def test_a_string_that_no_response_could_contain_is_not_stored() -> None:
    """A request for the controller whose response could not be encoded is rejected before it is forwarded."""

    def inbound_of(malformed_bytes: int) -> Inbound:
        topic = CreateTopicsRequest.CreatableTopic(name="T", num_partitions=1, replication_factor=1)
        name = malformed_bytes.to_bytes(2) + b"\xff" * malformed_bytes
        body = CreateTopicsRequest(topics=[topic]).encode(4).replace(b"\0\x01T", name)
        return Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 4, 5, "c"), body)

    handled: list[ApiRequest] = []

    def handler(request: ApiRequest) -> Any:
        handled.append(request)
        return CreateTopicsResponse()

    running_broker = RunningBroker(handler)
    assert "32769 bytes, 32767 are allowed" in running_broker.submit(inbound_of(10_923)).closed_for
    assert handled == []
    running_broker.submit(inbound_of(10_922))
    assert [request.body.topics[0].name for request in handled] == ["\ufffd" * 10_922]


@pytest.mark.spec("D1")
def test_a_group_whose_name_no_response_could_contain_is_not_begun() -> None:
    """It would be in every response to ListGroups, and no record could remove it."""
    join = JoinGroupRequest(group_id="G", session_timeout_ms=6_000, protocol_type="consumer").encode(0)
    handled: list[ApiRequest] = []

    def handler(request: ApiRequest) -> Any:
        handled.append(request)
        return JoinGroupResponse()

    for malformed_bytes in (10_923, 10_922):
        body = join.replace(b"\0\x01G", malformed_bytes.to_bytes(2) + b"\xff" * malformed_bytes, 1)
        inbound = Inbound(RequestHeader(ApiKey.JOIN_GROUP, 0, 5, "c"), body)
        RunningBroker(handler).submit(inbound)
    assert [len(request.body.group_id) for request in handled] == [10_922]


def test_a_body_that_does_not_parse_closes() -> None:
    inbound = heartbeat()
    inbound.frame = inbound.frame[:-4]
    RunningBroker(lambda request: HeartbeatResponse()).submit(inbound)
    assert "HEARTBEAT v4 does not parse" in inbound.closed_for


def test_bytes_after_the_body_are_ignored() -> None:
    inbound = heartbeat()
    inbound.frame += b"\0\0\0"
    assert RunningBroker(lambda request: HeartbeatResponse()).submit(inbound).answer.error_code == 0


def test_an_api_without_a_route_closes() -> None:
    inbound = Inbound(RequestHeader(ApiKey.SASL_HANDSHAKE, 1, 1, None), b"")
    assert "not served" in RunningBroker(lambda request: None).submit(inbound).closed_for
    with pytest.raises(DecodeError):
        RunningBroker(lambda request: None).router.decode(ApiKey.SASL_HANDSHAKE, b"", 0, 0)


@pytest.mark.spec("F9")
def test_a_version_above_its_ceiling_closes_and_is_none_inside_an_envelope() -> None:
    running_broker = RunningBroker(lambda request: CreateTopicsResponse())
    routes = {int(key): Route(row, lambda request: CreateTopicsResponse(), 5) for key, row in ROWS.items()}
    running_broker.router.install(routes, NO_THROTTLING)
    body = CreateTopicsRequest().encode(5)
    assert running_broker.submit(Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 5, 1, "c"), body)).answer.topics == []
    held_back = running_broker.submit(Inbound(RequestHeader(ApiKey.CREATE_TOPICS, 6, 1, "c"), body))
    assert "signalbox.forwarded.api.versions.max" in held_back.closed_for
    with pytest.raises(DecodeError, match="above version 5"):
        running_broker.router.decode(ApiKey.CREATE_TOPICS, body, 6, 0)


@pytest.mark.parametrize("version", [6, 99, 32767, -1])
def test_api_versions_reaches_its_handler_at_any_version(version: int) -> None:
    seen: list[ApiRequest] = []

    def handler(request: ApiRequest) -> Any:
        seen.append(request)
        return RawResponse(b"")

    RunningBroker(handler).submit(Inbound(RequestHeader(ApiKey.API_VERSIONS, version, 1, "c"), b"\xff garbage"))
    assert [request.body for request in seen] == [None]


@pytest.mark.spec("F2")
def test_the_controllers_business_is_forwarded_once_and_only_off_the_controller() -> None:
    async def scenario() -> None:
        running_broker = RunningBroker(lambda request: CreateTopicsResponse())
        assert running_broker.submit(create_topics()).answer.topics == []
        running_broker.controller.is_active = False
        inbound = running_broker.submit(create_topics())
        await run_loop()
        assert inbound.ends == [b"raw"]
        [asked] = running_broker.forwarder.forwarded
        assert bytes(asked.frame) == inbound.frame
        asked.forwarded_by = "User:broker"  # received in an Envelope: not forwarded again
        assert isinstance(running_broker.router.answer(asked), CreateTopicsResponse)
        assert running_broker.submit(heartbeat()).ends  # handled locally
        assert len(running_broker.forwarder.forwarded) == 1

    asyncio.run(scenario())


@pytest.mark.spec("F5")
@pytest.mark.parametrize("raises", [False, True])
def test_a_change_is_forwarded_if_its_controller_resigns_meanwhile(raises: bool) -> None:
    row = CreateTopicsResponse.CreatableTopicResult(name="t", error_code=Error.NOT_CONTROLLER)

    async def resigned(request: ApiRequest) -> Any:
        if raises:
            raise KafkaError(Error.NOT_CONTROLLER, "resigned")
        return CreateTopicsResponse(topics=[row])

    async def scenario() -> None:
        running_broker = RunningBroker(resigned)
        inbound = running_broker.submit(create_topics())
        await run_loop()
        assert inbound.ends == [b"raw"]
        [asked] = running_broker.forwarder.forwarded
        asked.forwarded_by = "User:broker"  # the broker that sent the Envelope looks for the next controller itself
        answer = await running_broker.router.settle(asked, resigned(asked))
        assert isinstance(answer, CreateTopicsResponse)
        assert answer.topics[0].error_code == Error.NOT_CONTROLLER
        assert len(running_broker.forwarder.forwarded) == 1

    asyncio.run(scenario())


def test_a_stop_ends_waiting_requests() -> None:
    async def scenario() -> None:
        async def never(request: ApiRequest) -> Any:
            await asyncio.get_running_loop().create_future()

        running_broker = RunningBroker(never)
        inbound = running_broker.submit(heartbeat())
        await run_loop()
        running_broker.router.close()
        await run_loop()
        assert inbound.closed_for == "the broker is stopping"
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


def test_a_stop_closes_responses_that_have_not_begun() -> None:
    async def scenario() -> None:
        responses = []

        async def later() -> HeartbeatResponse:
            return HeartbeatResponse()

        def handle(request: ApiRequest) -> Any:
            responses.append(later())
            return responses[-1]

        running_broker = RunningBroker(handle)
        inbound = running_broker.submit(heartbeat())
        running_broker.router.close()
        await run_loop()
        assert inbound.closed_for == "the broker is stopping"
        assert [inspect.getcoroutinestate(response) for response in responses] == [inspect.CORO_CLOSED]

    asyncio.run(scenario())


def test_an_observer_sees_what_ended_and_nothing_else() -> None:
    running_broker = RunningBroker(lambda request: ApiVersionsResponse())
    running_broker.submit(heartbeat(0))
    inbound = heartbeat()
    inbound.frame = inbound.frame[:-4]
    running_broker.submit(inbound)
    assert [name for name, _ in running_broker.observer.seen] == ["HEARTBEAT"]


def test_log_lines_of_a_handler_belong_to_its_client() -> None:
    sources = list[str]()

    def at_once(request: ApiRequest) -> Any:
        sources.append(current_source())
        return HeartbeatResponse()

    async def later(request: ApiRequest) -> Any:
        await asyncio.sleep(0)
        return at_once(request)

    async def run() -> None:
        for handler in (at_once, later):
            broker = RunningBroker(handler)
            broker.submit(heartbeat())
            await asyncio.gather(*broker.router._pending)

    asyncio.run(run())
    assert sources == ["10.0.0.7", "10.0.0.7"]
    assert current_source() == ""


def test_requests_of_brokers_are_no_source_of_log_lines() -> None:
    sources = list[str]()

    def handler(request: ApiRequest) -> Any:
        sources.append(current_source())
        return UpdateMetadataResponse()

    header = RequestHeader(ApiKey.UPDATE_METADATA, 8, 5, "c")
    RunningBroker(handler).submit(Inbound(header, UpdateMetadataRequest().encode(8)))
    assert sources == [""]
