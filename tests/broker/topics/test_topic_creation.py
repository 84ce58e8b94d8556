"""The active controller creates missing topics, on this node or another. Requests for one topic share one creation
(F10, F11), topics of one request share one CreateTopics, and clients' creations are charged to their quota (F14)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.client_quotas import NO_THROTTLING, ClientQuotas, QuotaWindows, Throttling
from signalbox.broker.handlers.topics.create_topics import CreateTopicsHandler
from signalbox.broker.topics.topic_creation import InternalTopicSettings, TopicCreationSettings, TopicCreator
from signalbox.common.clock import ManualClock
from signalbox.common.limits import MAX_RESOURCES_PER_CHANGE
from signalbox.metadata.entries.quota_entity import CONTROLLER_MUTATION_RATE
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import DefaultPrincipalBuilder
from tests.broker.handler_requests import ALLOW_ALL, acl, context, request_of

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
        message = "says who" if self.result else None
        return CreateTopicsResponse(
            topics=[
                CreateTopicsResponse.CreatableTopicResult(
                    name=topic.name, error_code=self.result, error_message=message
                )
                for topic in request.topics
            ]
        )

    async def handle(self, api_key: int, request: Any, context: Any) -> Any:
        await asyncio.sleep(0)
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

    def creator(self, throttling: Throttling = NO_THROTTLING, authorizer: Authorizer = ALLOW_ALL) -> TopicCreator:
        settings = TopicCreationSettings(INTERNAL_TOPICS, 1234)
        creator = TopicCreator(self, self, SERDE, context("broker-1"), settings)  # type: ignore[arg-type]
        creator.install(CreateTopicsHandler(self, authorizer, throttling, 4))
        return creator


ASKED = request_of(MetadataRequest(), 12)
THROTTLED = Error.THROTTLING_QUOTA_EXCEEDED


def throttling(**rates: float) -> Throttling:
    """Controller mutation rates of these users, without a burst."""
    clock = ManualClock()
    quotas = ClientQuotas(QuotaWindows(1.0, 1.0), clock.monotonic)
    for user, rate in rates.items():
        quotas.take_configs(f"users/{user}", {CONTROLLER_MUTATION_RATE: str(rate)})
    return Throttling(quotas, clock.monotonic)


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


@pytest.mark.parametrize("here", [True, False])
def test_topics_of_one_request_are_one_create_topics_without_those_in_flight(here: bool) -> None:
    async def scenario() -> None:
        cluster = Cluster(here=here)
        creator = cluster.creator()
        first = asyncio.ensure_future(creator.create("b", ASKED))
        await asyncio.sleep(0)
        results = await creator.create_all(["a", "b", "c"], ASKED)
        assert results == dict.fromkeys("abc", (0, ""))
        assert list(results) == ["a", "b", "c"], "in the order of the request"
        assert await first == (0, "")
        assert [[topic.name for topic in request.topics] for _, request in cluster.asked] == [["b"], ["a", "c"]]

    asyncio.run(scenario())


def test_each_topic_has_its_own_result() -> None:
    result = CreateTopicsResponse.CreatableTopicResult
    response = CreateTopicsResponse(
        topics=[
            result(name="a", error_code=Error.POLICY_VIOLATION, error_message="no"),
            result(name="b", error_code=Error.TOPIC_ALREADY_EXISTS),
        ]
    )
    results = asyncio.run(Cluster(response).creator().create_all(["a", "b", "c"], ASKED))
    assert {name: code for name, (code, _) in results.items()} == {
        "a": Error.POLICY_VIOLATION,
        "b": Error.NONE,
        "c": Error.UNKNOWN_SERVER_ERROR,
    }


@pytest.mark.parametrize("here", [True, False])
def test_more_topics_than_one_request_may_have_are_not_requested(here: bool) -> None:
    cluster = Cluster(here=here)
    names = [f"t-{number}" for number in range(MAX_RESOURCES_PER_CHANGE + 1)]
    results = asyncio.run(cluster.creator().create_all(names, ASKED))
    assert {code for code, _ in results.values()} == {Error.POLICY_VIOLATION}
    assert cluster.asked == []


@pytest.mark.spec("F14")
def test_the_active_controller_charges_the_client_for_its_topics_and_the_broker_nothing() -> None:
    """Four partitions a topic: the first may go into debt. The broker creates its own topics at any time."""

    async def scenario() -> None:
        cluster = Cluster(here=True)
        creator = cluster.creator(throttling(alice=1.0, **{"broker-1": 1.0}))
        results = await creator.create_all(["a", "b"], ASKED)
        assert [code for code, _ in results.values()] == [Error.NONE, THROTTLED]
        assert [topic.name for topic in cluster.asked[0][1].topics] == ["a"]
        assert (await creator.create("c", ASKED))[0] == THROTTLED
        assert (await creator.create("c", request_of(MetadataRequest(), 12, context("bob"))))[0] == Error.NONE
        for internal_topic in ("__consumer_offsets", "__transaction_state"):
            assert await creator.create(internal_topic, None) == (0, "")

    asyncio.run(scenario())


@pytest.mark.spec("F14")
def test_a_client_that_is_throttled_does_not_hold_back_the_brokers_creation_of_the_same_topic() -> None:
    async def scenario() -> None:
        cluster = Cluster(here=True)
        creator = cluster.creator(throttling(alice=1.0))
        await creator.create("a", ASKED)
        of_client = asyncio.ensure_future(creator.create("__consumer_offsets", ASKED))
        await asyncio.sleep(0)
        of_broker = [asyncio.ensure_future(creator.create("__consumer_offsets", None)) for _ in range(2)]
        assert (await of_client)[0] == THROTTLED
        assert await asyncio.gather(*of_broker) == [(0, "")] * 2
        assert cluster.principals == ["User:alice", "User:broker-1"], "the topic is requested once"

    asyncio.run(scenario())


def test_a_request_that_joined_the_creation_of_one_with_too_many_topics_sends_its_own() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        creator = cluster.creator()
        names = [f"t-{number}" for number in range(MAX_RESOURCES_PER_CHANGE + 1)]
        too_many = asyncio.ensure_future(creator.create_all(names, ASKED))
        await asyncio.sleep(0)
        assert await creator.create_all(["t-0", "u"], ASKED) == {"t-0": (0, ""), "u": (0, "")}
        assert (await too_many)["t-0"][0] == Error.POLICY_VIOLATION
        assert [[topic.name for topic in request.topics] for _, request in cluster.asked] == [["u"], ["t-0"]]

    asyncio.run(scenario())


@pytest.mark.spec("F10")
def test_the_active_controller_authorizes_the_client_again() -> None:
    cluster = Cluster(here=True)
    creator = cluster.creator(authorizer=acl(("alice", "CREATE", "a")))
    results = asyncio.run(creator.create_all(["a", "b", "__cluster_metadata"], ASKED))
    rejected = Error.TOPIC_AUTHORIZATION_FAILED
    assert [code for code, _ in results.values()] == [Error.NONE, rejected, rejected]
    assert [topic.name for topic in cluster.asked[0][1].topics] == ["a"]
