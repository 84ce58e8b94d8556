"""Metadata: topics and brokers through one listener, version by version."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.handlers.topics.metadata import MetadataHandler
from signalbox.broker.routing.exposed_nodes import ExposedController
from signalbox.broker.routing.recent_disconnects import RecentDisconnects
from signalbox.broker.topics.all_topics_response_cache import MIN_CACHED_TOPICS
from signalbox.broker.topics.topic_creation import Results, TopicCreator
from signalbox.common.clock import ManualClock
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.security.authorizer import Authorizer
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, context, request_of, response_to, topic_id, update

TOPICS = {"a": {0: (1, [1])}, "b": {0: (3, [3, 1])}, "__consumer_offsets": {0: (1, [1])}}
EVERYWHERE = ("CLIENT", "REPLICATION", "CONTROL")


class Creation(TopicCreator):
    """Returns `result` for each topic. With a cache, the topics appear in it."""

    def __init__(self, result: tuple[int, str] = (0, ""), cache: Any = None) -> None:
        self.result, self.cache = result, cache
        self.asked: list[list[str]] = []

    async def create_all(self, topics: Iterable[str], request: ApiRequest | None) -> Results:
        self.asked.append(list(topics))
        if self.cache is not None:
            self.cache.apply_update_metadata(update({1: EVERYWHERE}, {topic: {0: (1, [1])} for topic in topics}))
        return dict.fromkeys(topics, self.result)


def handler(authorizer: Authorizer = ALLOW_ALL, creation: Creation | None = None, cache: Any = None) -> MetadataHandler:
    cache = cache or cache_of(topics=TOPICS)
    return MetadataHandler(cache, "cluster", authorizer, ExposedController(cache, Random(1)), creation)


def by_name(*names: str | None, **more: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in names], **more)


def by_id(*topic_ids: bytes) -> MetadataRequest:
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(topics=[topic(name=None, topic_id=topic_id) for topic_id in topic_ids])


def ask(body: MetadataRequest, version: int, who: Any = None, **components: Any) -> Any:
    return response_to(handler(**components), request_of(body, version, who))


def found(response: Any) -> list[tuple[str | None, int]]:
    return [(topic.name, topic.error_code) for topic in response.topics]


@pytest.mark.spec("L10")
@pytest.mark.parametrize("version", range(14))
def test_only_addresses_of_the_requests_listener_are_returned(version: int) -> None:
    response = ask(MetadataRequest(topics=None if version else []), version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [(1, "client1", 9001), (2, "client2", 9002)]
    inside = ask(MetadataRequest(topics=None if version else []), version, context(listener="REPLICATION"))
    assert [(b.node_id, b.host) for b in inside.brokers] == [(n, f"replication{n}") for n in (1, 2, 3)]


@pytest.mark.parametrize("version", range(14))
def test_a_topic_of_which_only_the_name_is_known_is_asked_for_again(version: int) -> None:
    """Its entry in the store is corrupt. The topic is not created again."""
    creation = Creation()
    response = ask(by_name("torn"), version, creation=creation, cache=cache_of(topics={"torn": {}}))
    assert (found(response), response.topics[0].partitions) == ([("torn", Error.LEADER_NOT_AVAILABLE)], [])
    assert creation.asked == []


def test_the_rest_of_the_answer() -> None:
    response = ask(MetadataRequest(topics=None), 13)
    assert (response.cluster_id, response.brokers[0].rack) == ("cluster", "rack1")
    assert response.controller_id in (1, 2)
    assert response.topics[0].topic_id == topic_id("a")
    assert [t.is_internal for t in response.topics] == [False, False, True]


@pytest.mark.parametrize(
    ("version", "topics", "names"),
    [(0, [], 3), (1, [], 0), (13, [], 0), (1, None, 3), (13, None, 3)],
)
def test_which_empty_list_means_all(version: int, topics: Any, names: int) -> None:
    assert len(ask(MetadataRequest(topics=topics), version).topics) == names


def test_a_leader_without_the_listener() -> None:
    assert ask(by_name("b"), 6).topics[0].partitions[0].error_code == Error.LISTENER_NOT_FOUND
    assert ask(by_name("b"), 5).topics[0].partitions[0].error_code == Error.LEADER_NOT_AVAILABLE


def test_unknown_illegal_and_repeated_names() -> None:
    response = ask(by_name("a", "nope", "a", "what?", "", "nope"), 12)
    assert found(response) == [
        ("a", Error.NONE),
        ("nope", Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("what?", Error.INVALID_TOPIC_EXCEPTION),
        ("", Error.INVALID_TOPIC_EXCEPTION),
    ]


def test_by_id() -> None:
    response = ask(by_id(topic_id("a"), b"\7" * 16, topic_id("a")), 12)
    assert found(response) == [("a", Error.NONE), (None, Error.UNKNOWN_TOPIC_ID)]
    assert response.topics[1].topic_id == b"\7" * 16
    [hidden] = ask(by_id(topic_id("a")), 12, authorizer=acl(("bob", "READ", "a"))).topics
    assert (hidden.name, hidden.topic_id, hidden.error_code) == (None, topic_id("a"), Error.TOPIC_AUTHORIZATION_FAILED)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", ["a", None])
def test_ids_are_rejected_where_the_field_is_there_but_not_usable(version: int, name: str | None) -> None:
    topic = MetadataRequest.MetadataRequestTopic(name=name, topic_id=topic_id("a") if name else ZERO_UUID)
    [answered] = ask(MetadataRequest(topics=[topic]), version).topics
    assert (answered.name, answered.error_code) == (name or "", Error.INVALID_REQUEST)


def test_what_may_not_be_described() -> None:
    authorizer = acl(("alice", "READ", "a"))
    assert found(ask(MetadataRequest(topics=None), 12, authorizer=authorizer)) == [("a", Error.NONE)]
    response = ask(by_name("a", "b", "nope"), 12, authorizer=authorizer, creation=Creation())
    assert found(response)[1:] == [("b", Error.TOPIC_AUTHORIZATION_FAILED), ("nope", Error.TOPIC_AUTHORIZATION_FAILED)]
    assert response.topics[1].topic_id == ZERO_UUID


def test_operations() -> None:
    body = by_name("a", include_topic_authorized_operations=True)
    assert ask(body, 12).topics[0].topic_authorized_operations == sum(1 << code for code in (3, 4, 5, 6, 7, 8, 10, 11))
    assert ask(by_name("a"), 12).topics[0].topic_authorized_operations == -(2**31)
    body = by_name("a", include_cluster_authorized_operations=True)
    assert ask(body, 10).cluster_authorized_operations == sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
    assert ask(body, 10, authorizer=acl(("alice", "CREATE", "cluster"))).cluster_authorized_operations == 0
    assert ask(by_name("a"), 10).cluster_authorized_operations == -(2**31)


@pytest.mark.parametrize(
    ("version", "wanted", "created"), [(3, False, True), (4, False, False), (4, True, True), (13, True, True)]
)
def test_which_versions_and_fields_allow_auto_creation(version: int, wanted: bool, created: bool) -> None:
    creation = Creation()
    more = {"allow_auto_topic_creation": wanted} if version >= 4 else {}
    ask(by_name("a", "new", **more), version, creation=creation)
    assert creation.asked == ([["new"]] if created else [])


def test_nothing_is_created_when_all_topics_are_asked_for_or_the_name_is_illegal() -> None:
    creation = Creation()
    ask(MetadataRequest(topics=None), 12, creation=creation)
    ask(by_name("what?"), 12, creation=creation)
    assert creation.asked == []


@pytest.mark.spec("F10", "F11")
@pytest.mark.parametrize(
    ("version", "result", "code"),
    [
        (13, (Error.POLICY_VIOLATION, "no"), Error.POLICY_VIOLATION),
        (10, (Error.POLICY_VIOLATION, "no"), Error.POLICY_VIOLATION),
        (9, (Error.POLICY_VIOLATION, "no"), Error.TOPIC_AUTHORIZATION_FAILED),
        (9, (Error.INVALID_REPLICATION_FACTOR, "no"), Error.INVALID_REPLICATION_FACTOR),
        (9, (Error.REQUEST_TIMED_OUT, ""), Error.LEADER_NOT_AVAILABLE),
        (13, (Error.THROTTLING_QUOTA_EXCEEDED, "later"), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (9, (0, ""), Error.LEADER_NOT_AVAILABLE),  # created, but not yet in this broker's image
    ],
)
def test_the_controllers_response_reaches_the_client(version: int, result: tuple[int, str], code: Error) -> None:
    assert found(ask(by_name("new"), version, creation=Creation(result))) == [("new", code)]


def test_all_missing_topics_are_one_creation_and_keep_their_place() -> None:
    cache = cache_of(topics=TOPICS)
    creation = Creation(cache=cache)
    rights = [("alice", "READ", "*"), ("alice", "CREATE", "new"), ("alice", "CREATE", "newer")]
    body = by_name("new", "a", "what?", "no-right", "newer", "new")
    response = ask(body, 12, authorizer=acl(*rights), cache=cache, creation=creation)
    assert creation.asked == [["new", "newer"]]
    assert found(response) == [
        ("new", Error.NONE),
        ("a", Error.NONE),
        ("what?", Error.INVALID_TOPIC_EXCEPTION),
        ("no-right", Error.TOPIC_AUTHORIZATION_FAILED),
        ("newer", Error.NONE),
    ]


def test_a_created_topic_is_shown_at_once() -> None:
    cache = cache_of(topics=TOPICS)
    response = ask(by_name("new", "a"), 12, cache=cache, creation=Creation(cache=cache))
    assert found(response) == [("new", Error.NONE), ("a", Error.NONE)]


@pytest.mark.parametrize(
    ("right", "code"), [(("alice", "CREATE", "new"), 0), (("alice", "CREATE", "cluster"), 0), (None, 29)]
)
def test_creating_needs_a_right(right: Any, code: int) -> None:
    authorizer = acl(*filter(None, [("alice", "READ", "new"), right]))
    creation = Creation(cache=cache_of())
    [topic] = ask(by_name("new"), 12, authorizer=authorizer, creation=creation, cache=creation.cache).topics
    assert (topic.error_code, creation.asked) == (code, [] if code else [["new"]])


def test_a_broker_that_hung_up_is_shown_only_if_the_controller_does_not_say_otherwise_soon() -> None:
    async def story() -> None:
        cache = cache_of({1: EVERYWHERE, 3: EVERYWHERE}, {"b": {0: (3, [3, 1])}})
        recent_disconnects = RecentDisconnects(cache, ManualClock())
        asked = MetadataHandler(
            cache, "cluster", ALLOW_ALL, ExposedController(cache, Random(1)), None, recent_disconnects
        )
        recent_disconnects.connection_lost(3)
        response = asked(request_of(by_name("b"), 12))
        assert inspect.iscoroutine(response)
        waiting = asyncio.ensure_future(response)
        await asyncio.sleep(0)
        assert not waiting.done()
        cache.apply_update_metadata(update({1: EVERYWHERE}, {"b": {0: (1, [3, 1])}}))
        held = await waiting
        assert [broker.node_id for broker in held.brokers] == [1]
        assert held.topics[0].partitions[0].leader_id == 1
        assert asked(request_of(by_name("b"), 12)) == held

    asyncio.run(story())


def test_a_broker_without_metadata_waits_for_the_controllers_and_creates_no_topic_meanwhile() -> None:
    async def story() -> None:
        cache, creation = MetadataCache(), Creation()
        response = handler(creation=creation, cache=cache)(request_of(by_name("b"), 12))
        assert inspect.iscoroutine(response)
        waiting = asyncio.ensure_future(response)
        await asyncio.sleep(0)
        assert not waiting.done()
        cache.apply_update_metadata(update({1: EVERYWHERE}, {"b": {0: (1, [1])}}))
        assert found(await waiting) == [("b", 0)]
        assert creation.asked == []

    asyncio.run(story())


def test_a_broker_without_a_controller_answers_without_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.broker.handlers.topics.metadata._FIRST_METADATA_S", 0.01)
    assert ask(by_name("b"), 12, cache=MetadataCache()).brokers == []


MANY = {f"t-{number}": {0: (1, [1]), 1: (3, [3, 1])} for number in range(MIN_CACHED_TOPICS)}


def body_of(response: Any, version: int) -> bytes:
    return b"".join(response.encode_chunks(version))


@pytest.mark.parametrize("version", range(14))
def test_a_large_answer_is_kept_as_the_bytes_it_would_have_been(version: int) -> None:
    cache = cache_of(topics=MANY)
    keeps = handler(cache=cache)
    wanted = MetadataRequest(topics=None if version else [])
    first, again = (response_to(keeps, request_of(wanted, version)) for _ in range(2))
    named = response_to(handler(cache=cache), request_of(by_name(*MANY), version))
    shown = {MetadataResponse.decode(body_of(each, version), version).controller_id for each in (first, again)}
    assert shown <= {1, 2, -1}
    plain = MetadataResponse.decode(body_of(named, version), version)
    for response in (first, again):
        decoded = MetadataResponse.decode(body_of(response, version), version)
        assert decoded.topics == plain.topics
        assert decoded.brokers == plain.brokers


@pytest.mark.spec("L10")
@pytest.mark.parametrize("version", range(14))
def test_kept_answers_belong_to_one_listener(version: int) -> None:
    """Each listener is queried until the response for each controller id that can be returned is in the cache."""
    keeps = handler(cache=cache_of(topics=MANY))
    wanted = MetadataRequest(topics=None if version else [])
    for listener in ("CLIENT", "REPLICATION", "CLIENT"):
        request = request_of(wanted, version, context(listener=listener))
        answers = [MetadataResponse.decode(body_of(response_to(keeps, request), version), version) for _ in range(30)]
        hosts = [[broker.host for broker in response.brokers] for response in answers]
        nodes = (1, 2) if listener == "CLIENT" else (1, 2, 3)
        assert hosts == [[f"{listener.lower()}{node_id}" for node_id in nodes]] * 30


def test_a_kept_answer_goes_with_the_image() -> None:
    cache = cache_of(topics=MANY)
    keeps = handler(cache=cache)
    request = request_of(MetadataRequest(topics=None), 12)
    given = [keeps(request) for _ in range(40)]
    assert len({id(response) for response in given}) == 2, "one for each controller that is shown"
    cache.apply_update_metadata(update({1: EVERYWHERE}, {"new": {0: (1, [1])}}))
    fresh = MetadataResponse.decode(body_of(response_to(keeps, request), 12), 12)
    assert "new" in {topic.name for topic in fresh.topics}


def test_a_principal_that_may_not_describe_all_topics_gets_no_cached_response() -> None:
    cache = cache_of(topics=MANY)
    keeps = handler(acl(("root", "READ", "*"), ("alice", "READ", "t-1")), cache=cache)
    wanted = MetadataRequest(topics=None)
    everything = response_to(keeps, request_of(wanted, 12, context("root")))
    assert len(MetadataResponse.decode(body_of(everything, 12), 12).topics) == len(MANY)
    assert found(response_to(keeps, request_of(wanted, 12, context("alice")))) == [("t-1", Error.NONE)]
