"""The active controller creates missing topics, on this node or another. Requests for one topic share one creation
(F10, F11)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.topics.topic_creation import InternalTopicSettings, TopicCreationSettings, TopicCreator
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.principal import DefaultPrincipalBuilder
from tests.broker.handler_requests import context, request_of

SERDE = DefaultPrincipalBuilder()
INTERNAL_TOPICS = {"__consumer_offsets": InternalTopicSettings(50, 3, {"cleanup.policy": "compact"})}


class Cluster:
    """The active controller, on this node or another; returns `result`."""

    def __init__(self, result: Any = 0, *, here: bool = False) -> None:
        self.is_active = here
        self.result = result
        self.asked: list[tuple[str, CreateTopicsRequest]] = []
        self.principals: list[str] = []

    def _answer(self, way: str, request: CreateTopicsRequest) -> Any:
        self.asked.append((way, request))
        if isinstance(self.result, Exception):
            raise self.result
        if not isinstance(self.result, int):
            return self.result
        topic = CreateTopicsResponse.CreatableTopicResult(
            name=request.topics[0].name, error_code=self.result, error_message="says who" if self.result else None
        )
        return CreateTopicsResponse(topics=[topic])

    async def handle(self, api_key: int, request: Any, context: Any) -> Any:
        self.principals.append(str(context.principal))
        return self._answer("here", request)

    async def envelope(
        self,
        request_data: bytes,
        principal: bytes | None,
        client_address: bytes,
        timeout_ms: int,
        forwarding_id: bytes | None = None,
    ) -> Any:
        await asyncio.sleep(0)
        header, offset = decode_request_header(request_data)
        if principal is not None:
            self.principals.append(str(SERDE.deserialize(principal)))
            assert header == (ApiKey.CREATE_TOPICS, 7, 7, "test")
        response = self._answer("envelope", CreateTopicsRequest.decode(request_data, 7, offset))
        if isinstance(response, EnvelopeResponse):
            return response
        head = encode_response_header(ApiKey.CREATE_TOPICS, 7, header.correlation_id)
        return EnvelopeResponse(response_data=head + response.encode(7))

    def creator(self) -> TopicCreator:
        settings = TopicCreationSettings(INTERNAL_TOPICS, 1234)
        return TopicCreator(self, self, SERDE, context("broker-1"), settings)  # type: ignore[arg-type]


ASKED = request_of(MetadataRequest(), 12)


def created(cluster: Cluster, topic: str = "t", request: Any = ASKED) -> tuple[int, str]:
    async def scenario() -> tuple[int, str]:
        return await cluster.creator().create(topic, request)

    return asyncio.run(scenario())


@pytest.mark.spec("F10")
@pytest.mark.parametrize(
    ("here", "request_", "way", "principals"),
    [
        (True, ASKED, "here", ["User:alice"]),
        (True, None, "here", ["User:broker-1"]),
        (False, ASKED, "envelope", ["User:alice"]),
        (False, None, "envelope", []),
    ],
)
def test_the_way_and_in_whose_name(here: bool, request_: Any, way: str, principals: list[str]) -> None:
    cluster = Cluster(here=here)
    assert created(cluster, request=request_) == (0, "")
    assert [name for name, _ in cluster.asked] == [way]
    assert cluster.principals == principals


def test_a_client_id_that_no_header_can_contain_is_an_error() -> None:
    """It was not UTF-8: each of its bytes has become a U+FFFD of three bytes."""
    request = request_of(MetadataRequest(), 12)
    request.header = request.header._replace(client_id="\ufffd" * 10_923)
    code, message = created(Cluster(here=False), request=request)
    assert (code, message) == (Error.UNKNOWN_SERVER_ERROR, "a client id of 32769 bytes: 32767 are allowed")


def test_settings_of_internal_topics() -> None:
    cluster = Cluster(here=True)
    created(cluster, "__consumer_offsets")
    created(cluster, "t")
    offsets, plain = (request.topics[0] for _, request in cluster.asked)
    assert (offsets.num_partitions, offsets.replication_factor) == (50, 3)
    assert [(config.name, config.value) for config in offsets.configs] == [("cleanup.policy", "compact")]
    assert (plain.num_partitions, plain.replication_factor, plain.configs) == (-1, -1, [])
    assert cluster.asked[0][1].timeout_ms == 1234


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (Error.TOPIC_ALREADY_EXISTS, 0),
        (Error.POLICY_VIOLATION, Error.POLICY_VIOLATION),
        (KafkaError(Error.REQUEST_TIMED_OUT), Error.REQUEST_TIMED_OUT),
        (EnvelopeResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=None), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=b"\0\0\0\7\0\xff"), Error.UNKNOWN_SERVER_ERROR),
        (CreateTopicsResponse(), Error.UNKNOWN_SERVER_ERROR),
    ],
)
def test_results(result: Any, code: int) -> None:
    found, message = created(Cluster(int(result) if isinstance(result, Error) else result))
    assert found == code
    assert bool(message) == bool(code)


@pytest.mark.spec("F10")
def test_requests_for_the_same_topic_share_one_creation_and_a_later_one_starts_another() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        creator = cluster.creator()
        impatient = asyncio.ensure_future(creator.create("t", ASKED))
        others = [asyncio.ensure_future(creator.create("t", ASKED)) for _ in range(3)]
        await asyncio.sleep(0)
        impatient.cancel()  # a cancelled request does not fail the others
        assert await asyncio.gather(*others) == [(0, "")] * 3
        assert len(cluster.asked) == 1
        await creator.create("t", ASKED)
        await creator.create("u", ASKED)
        assert len(cluster.asked) == 3

    asyncio.run(scenario())
