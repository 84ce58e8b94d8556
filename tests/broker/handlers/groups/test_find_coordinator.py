"""FindCoordinator: one key or many, on the request's listener or COORDINATOR_NOT_AVAILABLE."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.handlers.groups.find_coordinator import FindCoordinatorHandler
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to

# partition_for: "g" (103) → 1 of 2, "h" (104) → 0, "a" (97) → 1
OFFSETS = {"__consumer_offsets": {0: (3, [3]), 1: (2, [2])}}


class Creation(TopicCreator):
    def __init__(self, result: tuple[int, str] = (0, "")) -> None:
        self.result = result
        self.asked: list[tuple[str, ApiRequest | None]] = []

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        self.asked.append((topic, request))
        return self.result


def ask(body: FindCoordinatorRequest, version: int, authorizer: Any = ALLOW_ALL, **more: Any) -> Any:
    cache = more.get("cache") or cache_of(topics=OFFSETS)
    handler = FindCoordinatorHandler(cache, authorizer, more.get("creation") or Creation())
    return response_to(handler, request_of(body, version))


@pytest.mark.parametrize("version", range(4))
def test_one_key(version: int) -> None:
    response = ask(FindCoordinatorRequest(key="g"), version)
    assert (response.error_code, response.node_id, response.host, response.port) == (0, 2, "client2", 9002)
    assert version == 0 or response.error_message == "NONE", "as Kafka answers"


@pytest.mark.parametrize("version", [4, 5, 6])
def test_many_keys_each_with_its_own_error(version: int) -> None:
    authorizer = acl(("alice", "READ", "group:g"), ("alice", "DESCRIBE", "group:h"))
    response = ask(FindCoordinatorRequest(coordinator_keys=["g", "secret", "h"]), version, authorizer)
    assert [(c.key, c.node_id, c.host, c.port, c.error_code) for c in response.coordinators] == [
        ("g", 2, "client2", 9002, 0),
        ("secret", -1, "", -1, Error.GROUP_AUTHORIZATION_FAILED),
        ("h", -1, "", -1, Error.COORDINATOR_NOT_AVAILABLE),  # broker 3 lacks the listener: its address is not returned
    ]
    assert next(c.error_message for c in response.coordinators) == "", "empty, not null: as Kafka answers"
    assert ask(FindCoordinatorRequest(), version).coordinators == []


@pytest.mark.spec("D1")
@pytest.mark.parametrize("key_type", [2, 9])
def test_coordinators_that_are_not_served_are_final_errors(key_type: int) -> None:
    response = ask(FindCoordinatorRequest(key="g", key_type=key_type), 3)
    assert (response.error_code, response.node_id, response.port) == (Error.INVALID_REQUEST, -1, -1)
    batched = ask(FindCoordinatorRequest(coordinator_keys=["g"], key_type=key_type), 6)
    assert batched.coordinators[0].error_code == Error.INVALID_REQUEST


@pytest.mark.spec("D5")
def test_the_coordinator_of_a_transactional_id() -> None:
    cache = cache_of(topics={"__transaction_state": {0: (1, [1]), 1: (2, [2])}})
    authorizer = acl(("alice", "DESCRIBE", "transactional_id:g"), ("alice", "DESCRIBE", "group:h"))
    one = ask(FindCoordinatorRequest(key="g", key_type=1), 3, authorizer, cache=cache)
    assert (one.error_code, one.node_id, one.host) == (0, 2, "client2")
    many = ask(FindCoordinatorRequest(coordinator_keys=["g", "h"], key_type=1), 6, authorizer, cache=cache)
    assert [row.error_code for row in many.coordinators] == [0, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    creation = Creation()
    ask(FindCoordinatorRequest(key="g", key_type=1), 3, cache=cache_of(), creation=creation)
    assert creation.asked == [("__transaction_state", None)]


def test_an_offsets_topic_known_only_by_name_is_not_created_again() -> None:
    """Its entry in the store is corrupt. Without the number of partitions the coordinator cannot be computed."""
    creation = Creation()
    response = ask(
        FindCoordinatorRequest(key="g"), 3, cache=cache_of(topics={"__consumer_offsets": {}}), creation=creation
    )
    assert (response.error_code, creation.asked) == (Error.COORDINATOR_NOT_AVAILABLE, [])
    without_reason = ask(FindCoordinatorRequest(key="g"), 3, cache=cache_of())
    assert without_reason.error_message == Error.COORDINATOR_NOT_AVAILABLE.message


@pytest.mark.spec("F10", "F11")
def test_a_missing_topic_is_created_by_the_broker_itself() -> None:
    creation = Creation((Error.POLICY_VIOLATION, "RequiredTags rejected it"))
    response = ask(FindCoordinatorRequest(key="g"), 3, cache=cache_of(), creation=creation)
    assert creation.asked == [("__consumer_offsets", None)]
    assert response.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert "RequiredTags rejected it" in response.error_message


@pytest.mark.parametrize("offsets", [{0: (3, [3])}, {1: (-1, [2]), 0: (1, [1])}, {1: (9, [9]), 0: (1, [1])}])
def test_no_leader_dead_leader_half_an_image(offsets: dict[int, tuple[int, list[int]]]) -> None:
    cache = cache_of(topics={"__consumer_offsets": offsets})
    response = ask(FindCoordinatorRequest(key="g"), 3, cache=cache)
    assert response.error_code == Error.COORDINATOR_NOT_AVAILABLE


def test_a_partition_without_a_leader_is_named() -> None:
    cache = cache_of(topics={"__consumer_offsets": {0: (-1, [2])}})
    response = ask(FindCoordinatorRequest(key="g"), 3, cache=cache)
    assert response.error_message == "__consumer_offsets-0 has no leader"


def test_a_hole_in_the_image_is_no_bug() -> None:
    cache = cache_of(topics={"__consumer_offsets": {5: (1, [1]), 6: (1, [1])}})
    assert ask(FindCoordinatorRequest(key="g"), 3, cache=cache).error_code == Error.COORDINATOR_NOT_AVAILABLE


def test_without_the_right_nothing_is_created() -> None:
    creation = Creation()
    response = ask(FindCoordinatorRequest(key="g"), 3, acl(), cache=cache_of(), creation=creation)
    assert (response.error_code, creation.asked) == (Error.GROUP_AUTHORIZATION_FAILED, [])
