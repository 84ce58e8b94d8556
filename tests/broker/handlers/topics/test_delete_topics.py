"""DeleteTopics: by name, by id, or both; the response hides topics that the client may not describe."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.client_quotas import NO_THROTTLING, ClientQuotas, QuotaWindows, Throttling
from signalbox.broker.handlers.topics.delete_topics import DeleteTopicsHandler
from signalbox.common.clock import ManualClock
from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to, topic_id
from tests.broker.handlers.running_broker import RunningBroker

State = DeleteTopicsRequest.DeleteTopicState
UNKNOWN = b"\x09" * 16


class _UnusedDependency:
    is_active = False

    async def handle(self, api_key: int, request: Any, context: Any) -> Any:
        raise AssertionError


def ask(running_broker: RunningBroker, *states: Any, authorizer: Any = ALLOW_ALL) -> Any:
    components = running_broker.components
    handler = DeleteTopicsHandler(components.controller, authorizer, components.cache, NO_THROTTLING)
    return running_broker.answer(
        handler, request_of(DeleteTopicsRequest(topics=list(states), timeout_ms=5000), 6)
    ).responses


def found(results: Any) -> list[tuple[str | None, int]]:
    return [(result.name, result.error_code) for result in results]


@pytest.mark.parametrize("version", range(1, 6))
def test_names_before_version_6(running_broker: RunningBroker, version: int) -> None:
    name = f"d-{version}"
    running_broker.create_topic(name)
    handler = DeleteTopicsHandler(
        running_broker.components.controller, ALLOW_ALL, running_broker.components.cache, NO_THROTTLING
    )
    body = DeleteTopicsRequest(topic_names=[name, "d-nope"], timeout_ms=5000)
    response = running_broker.answer(handler, request_of(body, version))
    assert found(response.responses) == [(name, 0), ("d-nope", Error.UNKNOWN_TOPIC_OR_PARTITION)]
    assert name not in running_broker.components.cache.image.topics


def test_names_and_ids_in_one_request(running_broker: RunningBroker) -> None:
    running_broker.create_topic("d-name")
    running_broker.create_topic("d-id")
    asked_id = running_broker.topic_id("d-id")
    results = ask(
        running_broker, State(name="d-name"), State(name=None, topic_id=asked_id), State(name=None, topic_id=UNKNOWN)
    )
    assert {(r.name, r.topic_id, r.error_code) for r in results if r.topic_id != UNKNOWN} == {
        ("d-name", next(r.topic_id for r in results if r.name == "d-name"), 0),
        ("d-id", asked_id, 0),
    }
    assert (None, Error.UNKNOWN_TOPIC_ID) in found(results)


def test_neither_name_nor_id(running_broker: RunningBroker) -> None:
    assert found(ask(running_broker, State(name=None), State(name="d-nope"))) == [
        (None, Error.INVALID_REQUEST),
        ("d-nope", Error.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_name_and_id_at_once_spoil_the_whole_request(running_broker: RunningBroker) -> None:
    running_broker.create_topic("d-both")
    results = ask(running_broker, State(name="d-both", topic_id=UNKNOWN), State(name="d-both"))
    assert found(results) == [("d-both", Error.INVALID_REQUEST)] * 2
    assert "d-both" in running_broker.components.cache.image.topics


def test_the_same_topic_twice(running_broker: RunningBroker) -> None:
    running_broker.create_topic("d-twice")
    by_name, by_id = State(name="d-twice"), State(name=None, topic_id=running_broker.topic_id("d-twice"))
    for states, words in (
        ([by_name, by_name, by_name], "Duplicate topic name."),
        ([by_id, by_id], "Duplicate topic id."),
        ([by_name, by_id], "The provided topic name maps to an ID that was already supplied."),
    ):
        [result] = ask(running_broker, *states)
        assert (result.error_code, result.error_message) == (Error.INVALID_REQUEST, words)
    assert "d-twice" in running_broker.components.cache.image.topics


def test_a_name_given_twice_is_answered_once_to_those_who_may_nothing(running_broker: RunningBroker) -> None:
    states = [State(name="d-secret"), State(name="d-secret"), State(name=None), State(name=None)]
    results = ask(running_broker, *states, authorizer=acl(("bob", "READ", "t")))
    assert found(results) == [("d-secret", Error.INVALID_REQUEST), (None, Error.INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("rights", "by_name", "by_id"),
    [
        ([("alice", "DELETE", "d-kept"), ("alice", "DESCRIBE", "d-kept", "deny")], 0, (None, 29)),
        ([("alice", "DESCRIBE", "d-kept")], 29, ("d-kept", 29)),
        ([("bob", "DELETE", "d-kept")], 29, (None, 29)),
    ],
)
def test_rights(rights: Any, by_name: int, by_id: tuple[str | None, int]) -> None:
    """The controller accepts every deletion."""

    class Yes:
        is_active = True

        async def handle(self, api_key: int, request: DeleteTopicsRequest, context: Any) -> Any:
            result = DeleteTopicsResponse.DeletableTopicResult
            return DeleteTopicsResponse(responses=[result(name=t.name, topic_id=t.topic_id) for t in request.topics])

    handler = DeleteTopicsHandler(Yes(), acl(*rights), cache_of(topics={"d-kept": {0: (1, [1])}}), NO_THROTTLING)
    [named] = response_to(handler, request_of(DeleteTopicsRequest(topics=[State(name="d-kept")]), 6)).responses
    state = State(name=None, topic_id=topic_id("d-kept"))
    [by_its_id] = response_to(handler, request_of(DeleteTopicsRequest(topics=[state]), 6)).responses
    assert (named.name, named.error_code) == ("d-kept", by_name)
    assert (by_its_id.name, by_its_id.error_code) == by_id
    assert by_its_id.topic_id == topic_id("d-kept")


@pytest.mark.spec("F6")
@pytest.mark.parametrize(
    ("rights", "there", "missing"),
    [
        ([], Error.TOPIC_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED),
        (["DESCRIBE"], Error.TOPIC_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED),
        (["DELETE"], Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_topic_existence_is_disclosed_only_to_authorized_principals(
    running_broker: RunningBroker, rights: list[str], there: Error, missing: Error
) -> None:
    running_broker.create_topic("d-there")
    grants = [("alice", right, name) for right in rights for name in ("d-there", "d-missing")]
    results = ask(
        running_broker, State(name="d-missing"), State(name="d-there"), authorizer=acl(*grants, ("bob", "READ", "t"))
    )
    assert found(results) == [("d-missing", missing), ("d-there", there)]
    messages = {result.error_message for result in results}
    assert len(messages) == 1 or there is Error.NONE, "the words tell no more than the code"


@pytest.mark.spec("F6")
def test_an_id_that_this_broker_does_not_know_is_left_to_the_controller() -> None:
    handler = DeleteTopicsHandler(_UnusedDependency(), acl(("bob", "READ", "t")), cache_of(), NO_THROTTLING)
    states = [State(name=None, topic_id=UNKNOWN), State(name="secret")]
    assert list(handler.rejected(request_of(DeleteTopicsRequest(topics=states), 6))) == ["secret"]


@pytest.mark.parametrize(
    ("version", "code"), [(1, Error.INVALID_REQUEST), (2, Error.INVALID_REQUEST), (3, Error.TOPIC_DELETION_DISABLED)]
)
def test_deletion_disabled_has_no_code_of_its_own_before_version_3(version: int, code: Error) -> None:
    class No:
        is_active = True

        async def handle(self, api_key: int, request: DeleteTopicsRequest, context: Any) -> Any:
            result = DeleteTopicsResponse.DeletableTopicResult
            return DeleteTopicsResponse(
                responses=[result(name=name, error_code=Error.TOPIC_DELETION_DISABLED) for name in request.topic_names]
            )

    handler = DeleteTopicsHandler(No(), ALLOW_ALL, cache_of(topics={"t": {0: (1, [1])}}), NO_THROTTLING)
    [result] = response_to(handler, request_of(DeleteTopicsRequest(topic_names=["t"]), version)).responses
    assert (result.error_code, result.topic_id) == (code, ZERO_UUID)


@pytest.mark.spec("F14")
def test_what_was_not_deleted_after_all_costs_nothing() -> None:
    class No:
        is_active = True

        async def handle(self, api_key: int, request: DeleteTopicsRequest, context: Any) -> Any:
            result = DeleteTopicsResponse.DeletableTopicResult
            return DeleteTopicsResponse(
                responses=[result(name=name, error_code=Error.TOPIC_DELETION_DISABLED) for name in request.topic_names]
            )

    clock = ManualClock()
    quotas = ClientQuotas(QuotaWindows(1.0, 1.0), clock.monotonic)
    quotas.take_configs("users/alice", {"controller_mutation_rate": "1"})
    throttling = Throttling(quotas, clock.monotonic)
    handler = DeleteTopicsHandler(No(), ALLOW_ALL, cache_of(topics={"t": {0: (1, [1]), 1: (1, [1])}}), throttling)
    for _ in range(3):
        response = response_to(handler, request_of(DeleteTopicsRequest(topic_names=["t"]), 5))
        assert [each.error_code for each in response.responses] == [Error.TOPIC_DELETION_DISABLED]
        assert response.throttle_time_ms == 0


@pytest.mark.spec("F14")
def test_a_quota_rejects_a_topic_with_kafkas_sentence_after_others_that_cost_nothing() -> None:
    asked: list[str] = []

    class Yes:
        is_active = True

        async def handle(self, api_key: int, request: DeleteTopicsRequest, context: Any) -> Any:
            asked.extend(request.topic_names)
            result = DeleteTopicsResponse.DeletableTopicResult
            return DeleteTopicsResponse(responses=[result(name=name) for name in request.topic_names])

    clock = ManualClock()
    quotas = ClientQuotas(QuotaWindows(1.0, 1.0), clock.monotonic)
    quotas.take_configs("users/alice", {"controller_mutation_rate": "1"})
    topics = {name: {0: (1, [1]), 1: (1, [1])} for name in ("kept", "t", "u")}
    authorizer = acl(("alice", "DELETE", "t"), ("alice", "DELETE", "u"))
    handler = DeleteTopicsHandler(Yes(), authorizer, cache_of(topics=topics), Throttling(quotas, clock.monotonic))
    response = response_to(handler, request_of(DeleteTopicsRequest(topic_names=["kept", "t", "u"]), 5))
    assert asked == ["t"]
    assert [(each.name, each.error_code) for each in response.responses] == [
        ("kept", Error.TOPIC_AUTHORIZATION_FAILED),
        ("t", Error.NONE),
        ("u", Error.THROTTLING_QUOTA_EXCEEDED),
    ]
    assert response.responses[2].error_message == Error.THROTTLING_QUOTA_EXCEEDED.message
    assert response.throttle_time_ms > 0
