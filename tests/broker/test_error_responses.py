"""Each served API has an error response at every version, with the error in the same fields as in Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest, CloseConnection
from signalbox.broker.error_responses import error_response, failure
from signalbox.broker.routes import ROUTES
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import RequestHeader
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from tests.broker.handler_requests import as_read, context, request_of

ERROR = Error.CLUSTER_AUTHORIZATION_FAILED
# Responses without a field for an error of the whole request: before version 3 DescribeLogDirs returns an empty list.
SPEECHLESS = {(ApiKey.DESCRIBE_LOG_DIRS, 1), (ApiKey.DESCRIBE_LOG_DIRS, 2)}


def filled(kind: Any, version: int) -> Any:
    """A message or struct with one element in each array of the version, strings that are not empty."""
    made = kind()
    for field in kind._spec.fields:
        if version not in field.versions:
            continue
        value = getattr(made, field.attribute)
        struct = getattr(kind, field.type_name, None) or _struct(kind, field.type_name)
        if field.is_array:
            setattr(made, field.attribute, [filled(struct, version) if struct is not None else _one(field.type_name)])
        elif value == "":
            setattr(made, field.attribute, "x")
    return made


def _struct(kind: Any, name: str) -> Any:
    root = _ROOTS.get(kind.__qualname__.split(".")[0])
    return getattr(root, name, None)


_ROOTS = {API_TABLE[row.api_key].request.__name__: API_TABLE[row.api_key].request for row in ROUTES}


def _one(type_name: str) -> Any:
    return {"string": "x", "uuid": b"\1" * 16, "bytes": b""}.get(type_name, 1)


def served() -> Iterator[Any]:
    for row in ROUTES:
        api = API_TABLE[row.api_key]
        for version in range(api.min_version, api.max_version + 1):
            yield pytest.param(row.api_key, version, id=f"{api.name}-{version}")


def codes(response: Any) -> set[int]:
    """All error codes in a response, at any depth."""
    found = set()
    for name in response._attributes:
        value = getattr(response, name)
        if name in ("error_code", "partition_error_code"):
            found.add(int(value))
        for part in value if isinstance(value, list) else ():
            if hasattr(part, "_attributes"):
                found |= codes(part)
    return found


@pytest.mark.parametrize(("api_key", "version"), list(served()))
def test_whatever_was_asked_is_answered_with_the_error(api_key: ApiKey, version: int) -> None:
    body = filled(API_TABLE[api_key].request, version)
    request = ApiRequest(RequestHeader(api_key, version, 1, "c"), body, context(), b"", 0.0)
    response = as_read(request, error_response(request, ERROR, "no"))
    assert (ERROR in codes(response)) == ((api_key, version) not in SPEECHLESS)


@pytest.mark.parametrize(("api_key", "version"), list(served()))
def test_an_empty_request_can_be_rejected_too(api_key: ApiKey, version: int) -> None:
    request = ApiRequest(RequestHeader(api_key, version, 1, "c"), API_TABLE[api_key].request(), context(), b"", 0.0)
    assert as_read(request, error_response(request, ERROR)) is not None


def test_a_null_topic_name_becomes_an_empty_one() -> None:
    asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=None, topic_id=b"\1" * 16)])
    request = request_of(asked, 10)
    [topic] = as_read(request, error_response(request, Error.INVALID_REQUEST)).topics
    assert (topic.name, topic.error_code) == ("", Error.INVALID_REQUEST)


def test_offset_fetch_1_has_no_code_at_the_top() -> None:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[3])
    request = request_of(OffsetFetchRequest(group_id="g", topics=[topic]), 1)
    [answered] = as_read(request, error_response(request, Error.GROUP_AUTHORIZATION_FAILED)).topics
    [partition] = answered.partitions
    assert (partition.partition_index, partition.error_code) == (3, Error.GROUP_AUTHORIZATION_FAILED)
    request = request_of(OffsetFetchRequest(group_id="g", topics=[topic]), 2)
    response = as_read(request, error_response(request, Error.GROUP_AUTHORIZATION_FAILED))
    assert (response.error_code, response.topics) == (Error.GROUP_AUTHORIZATION_FAILED, [])


def test_coordinators_are_rejected_one_by_one_from_version_4() -> None:
    request = request_of(FindCoordinatorRequest(coordinator_keys=["a", "b"]), 4)
    response = as_read(request, error_response(request, Error.UNKNOWN_SERVER_ERROR, "why"))
    assert [(c.key, c.node_id, c.error_code, c.error_message) for c in response.coordinators] == [
        ("a", -1, -1, "why"),
        ("b", -1, -1, "why"),
    ]
    request = request_of(FindCoordinatorRequest(key="a"), 3)
    response = as_read(request, error_response(request, Error.UNKNOWN_SERVER_ERROR, "why"))
    assert (response.error_code, response.node_id, response.error_message) == (-1, -1, "why")


def test_no_producer_id_is_minus_one() -> None:
    request = request_of(InitProducerIdRequest(), 4)
    response = as_read(request, error_response(request, ERROR))
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


@pytest.mark.parametrize(("version", "protocol_name"), [(6, ""), (7, None), (9, None)])
def test_a_join_that_fails_has_no_protocol_name(version: int, protocol_name: str | None) -> None:
    response: Any = error_response(request_of(JoinGroupRequest(), version), ERROR)
    assert (response.error_code, response.protocol_name) == (ERROR, protocol_name)


def test_leader_and_isr_names_every_partition() -> None:
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState(partition_index=2)
    topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name="t", topic_id=b"\1" * 16, partition_states=[state])
    request = request_of(LeaderAndIsrRequest(topic_states=[topic]), 7)
    response = as_read(request, error_response(request, ERROR))
    assert response.error_code == ERROR
    assert response.topics[0].partition_errors[0].error_code == ERROR


@pytest.mark.parametrize("acks", [0, 1])
def test_with_acks_0_an_error_closes_the_connection(acks: int) -> None:
    request = request_of(ProduceRequest(acks=acks, timeout_ms=1), 9)
    response = failure(request, Error.UNKNOWN_SERVER_ERROR)
    assert isinstance(response, CloseConnection) == (acks == 0)
