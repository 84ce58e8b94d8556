"""Requests with many resources: their entries, the remaining request, and one response in the request's order."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.resource_requests import RESOURCE_REQUESTS
from signalbox.common.ids import ZERO_UUID
from signalbox.common.limits import MAX_RESOURCES_PER_CHANGE
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

_NAMES = ("a", "b", "c")
DELETE = RESOURCE_REQUESTS[ApiKey.DELETE_TOPICS]
State, Result = DeleteTopicsRequest.DeleteTopicState, DeleteTopicsResponse.DeletableTopicResult
ID = b"\7" * 16


def entry(api_key: int, name: str) -> Any:
    request = API_TABLE[api_key].request
    match api_key:
        case ApiKey.CREATE_TOPICS:
            return request.CreatableTopic(name=name)
        case ApiKey.DELETE_TOPICS:
            return request.DeleteTopicState(name=name)
        case ApiKey.CREATE_PARTITIONS:
            return request.CreatePartitionsTopic(name=name, assignments=None)
        case _:
            return request.AlterConfigsResource(resource_type=2, resource_name=name)


def result(api_key: int, name: str, error_code: int) -> Any:
    response = API_TABLE[api_key].response
    match api_key:
        case ApiKey.CREATE_TOPICS:
            return response.CreatableTopicResult(name=name, error_code=error_code)
        case ApiKey.DELETE_TOPICS:
            return response.DeletableTopicResult(name=name, error_code=error_code)
        case ApiKey.CREATE_PARTITIONS:
            return response.CreatePartitionsTopicResult(name=name, error_code=error_code)
        case _:
            return response.AlterConfigsResourceResponse(resource_type=2, resource_name=name, error_code=error_code)


@pytest.mark.spec("F6")
@pytest.mark.parametrize("api_key", RESOURCE_REQUESTS, ids=lambda key: ApiKey(key).name)
def test_each_api_of_the_table(api_key: int) -> None:
    """`b` is rejected; the controller returns the results of the remaining request in another order."""
    requests = RESOURCE_REQUESTS[api_key]
    field = requests.request_fields[-1]
    body = API_TABLE[api_key].request(**{field: [entry(api_key, name) for name in _NAMES]})
    keys = [key for key, _ in requests.entries(body)]
    assert dict(requests.times(body)) == dict.fromkeys(keys, 1)
    assert requests.remaining_request(body, {}) is body
    assert requests.remaining_request(body, dict.fromkeys(keys)) is None
    rejected = {keys[1]: result(api_key, "b", 29)}
    assert [key for key, _ in requests.entries(requests.remaining_request(body, rejected))] == [keys[0], keys[2]]
    assert [key for key, _ in requests.entries(body)] == keys, "the request itself stays as it is"
    theirs = API_TABLE[api_key].response(
        **{requests.response_field: [result(api_key, name, 0) for name in ("c", "a")], "throttle_time_ms": 33}
    )
    combined = requests.combined_response(body, rejected, theirs)
    assert [each.error_code for each in getattr(combined, requests.response_field)] == [0, 29, 0]
    assert combined.throttle_time_ms == 33
    alone = requests.combined_response(body, {key: result(api_key, name, 29) for key, name in zip(keys, _NAMES)}, None)
    assert [each.error_code for each in getattr(alone, requests.response_field)] == [29, 29, 29]


def test_names_of_old_versions_are_resources_too() -> None:
    body = DeleteTopicsRequest(topic_names=["x", "y"], timeout_ms=5)
    remaining = DELETE.remaining_request(body, {"x": Result(name="x")})
    assert remaining is not None
    assert (remaining.topic_names, remaining.timeout_ms) == (["y"], 5)
    assert remaining.encode(5)


def test_a_topic_is_found_by_its_id_with_or_without_a_name() -> None:
    other = b"\x08" * 16
    body = DeleteTopicsRequest(topics=[State(name=None, topic_id=other), State(name=None, topic_id=ID)])
    response = DeleteTopicsResponse(
        responses=[Result(name="t", topic_id=ID), Result(name=None, topic_id=other, error_code=29)]
    )
    assert [each.topic_id for each in DELETE.combined_response(body, {}, response).responses] == [other, ID]


def test_a_topic_that_is_named_by_name_and_by_id_has_one_result() -> None:
    body = DeleteTopicsRequest(topics=[State(name="t"), State(name=None, topic_id=ID)])
    response = DeleteTopicsResponse(responses=[Result(name="t", topic_id=ID, error_code=42)])
    assert DELETE.combined_response(body, {}, response).responses == response.responses


def test_what_is_no_entry_is_answered_for_itself() -> None:
    body = DeleteTopicsRequest(topics=[State(name="gone"), State(name=None)])
    rejected: dict[Any, Any] = {ZERO_UUID: Result(name=None, error_code=42)}
    response = DeleteTopicsResponse(responses=[Result(name="gone", error_code=3)])
    assert [each.error_code for each in DELETE.combined_response(body, rejected, response).responses] == [3, 42]


@pytest.mark.parametrize("api_key", RESOURCE_REQUESTS, ids=lambda key: ApiKey(key).name)
def test_what_is_named_twice_is_answered_as_often_as_kafka_does(api_key: int) -> None:
    requests = RESOURCE_REQUESTS[api_key]
    body = API_TABLE[api_key].request(**{requests.request_fields[-1]: [entry(api_key, "a"), entry(api_key, "a")]})
    [key] = requests.times(body)
    combined = requests.combined_response(body, {key: result(api_key, "a", 42)}, None)
    configs = api_key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert len(getattr(combined, requests.response_field)) == (2 if configs else 1)


@pytest.mark.spec("F6")
@pytest.mark.parametrize("api_key", RESOURCE_REQUESTS, ids=lambda key: ApiKey(key).name)
def test_too_many_resources_reject_the_request_and_the_error_names_the_limit(api_key: int) -> None:
    requests = RESOURCE_REQUESTS[api_key]
    many = [entry(api_key, f"n-{number}") for number in range(MAX_RESOURCES_PER_CHANGE + 1)]
    assert (
        len(requests.times(API_TABLE[api_key].request(**{requests.request_fields[-1]: many[1:]})))
        == MAX_RESOURCES_PER_CHANGE
    )
    with pytest.raises(
        KafkaError, match=r"10001 resources in one request: at most 10000 \(MAX_RESOURCES_PER_CHANGE"
    ) as it:
        requests.times(API_TABLE[api_key].request(**{requests.request_fields[-1]: many}))
    assert it.value.error is Error.POLICY_VIOLATION
