from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.handlers.transactions import add_partitions_to_txn
from signalbox.broker.handlers.transactions.add_partitions_to_txn import (
    AddOffsetsToTxnHandler,
    AddPartitionsToTxnHandler,
)
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.ids import TopicPartition
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tests.broker.handler_requests import (
    ALLOW_ALL,
    acl,
    cache_of,
    context,
    from_broker,
    request_of,
    response_to,
    update,
)
from tests.broker.handlers.transactions.coordinators import ScriptedCoordinator

pytestmark = pytest.mark.spec("D5")
TOPICS = {"t": {0: (1, [1]), 1: (1, [1])}, "secret": {0: (1, [1])}}
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction


def add(
    coordinator: ScriptedCoordinator, version: int, topics: dict[str, list[int]], authorizer: Any = ALLOW_ALL
) -> dict[str, list[int]]:
    """The error codes by topic."""
    body = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=7,
        v3_and_below_producer_epoch=3,
        v3_and_below_topics=[_Topic(name=name, partitions=indexes) for name, indexes in topics.items()],
    )
    handler = AddPartitionsToTxnHandler(coordinator, cache_of(topics=TOPICS), authorizer)
    response = response_to(handler, request_of(body, version))
    return {
        topic.name: [row.partition_error_code for row in topic.results_by_partition]
        for topic in response.results_by_topic_v3_and_below
    }


class Groups(GroupCoordinator):
    def __init__(self) -> None:
        self._partition_count = 50


class Creation(TopicCreator):
    """The controller creates every topic, and `cache` gets it; without a cache the controller rejects it."""

    def __init__(self, cache: MetadataCache | None = None) -> None:
        self.cache = cache
        self.topics: list[str] = []

    async def create(self, topic: str, request: ApiRequest | None) -> tuple[int, str]:
        self.topics.append(topic)
        if self.cache is None:
            return Error.INVALID_REPLICATION_FACTOR, "too few brokers"
        created = update({1: ["CLIENT"]}, {topic: {0: (1, [1])}})
        asyncio.get_running_loop().call_soon(partial(self.cache.apply_update_metadata, created))
        return Error.NONE, ""


def offsets_handler(coordinator: ScriptedCoordinator, authorizer: Any = ALLOW_ALL) -> AddOffsetsToTxnHandler:
    cache = cache_of(topics={"__consumer_offsets": {0: (1, [1])}})
    return AddOffsetsToTxnHandler(coordinator, Groups(), cache, authorizer, Creation())


@pytest.mark.parametrize("version", range(4))
def test_a_clients_partitions_are_added(version: int) -> None:
    coordinator = ScriptedCoordinator()
    assert add(coordinator, version, {"t": [0, 1]}) == {"t": [0, 0]}
    assert coordinator.calls == [("tx", (7, 3), [TopicPartition("t", 0), TopicPartition("t", 1)], 0)]


def test_all_or_none() -> None:
    coordinator = ScriptedCoordinator()
    authorizer = acl(("alice", "WRITE", "transactional_id:tx"), ("alice", "WRITE", "t"))
    attempted = add(coordinator, 3, {"t": [0, 9], "secret": [0]}, authorizer)
    assert attempted == {
        "t": [Error.OPERATION_NOT_ATTEMPTED, Error.UNKNOWN_TOPIC_OR_PARTITION],
        "secret": [Error.TOPIC_AUTHORIZATION_FAILED],
    }
    assert coordinator.calls == []


def test_a_client_needs_write_on_the_transactional_id() -> None:
    coordinator = ScriptedCoordinator()
    authorizer = acl(("alice", "DESCRIBE", "transactional_id:tx"), ("alice", "WRITE", "t"))
    assert add(coordinator, 3, {"t": [0]}, authorizer) == {"t": [Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]}
    assert coordinator.calls == []


@pytest.mark.parametrize(("version", "code"), [(1, Error.INVALID_PRODUCER_EPOCH), (2, Error.PRODUCER_FENCED)])
def test_earlier_versions_do_not_have_producer_fenced(version: int, code: Error) -> None:
    assert add(ScriptedCoordinator(Error.PRODUCER_FENCED), version, {"t": [0]}) == {"t": [code]}
    body = AddOffsetsToTxnRequest(transactional_id="tx", group_id="g")
    handler = offsets_handler(ScriptedCoordinator(Error.PRODUCER_FENCED))
    assert response_to(handler, request_of(body, version)).error_code == code


@pytest.mark.parametrize("version", [3, 4])
def test_a_request_for_many_partitions_runs_in_slices(version: int) -> None:
    topics = [_Topic(name="t", partitions=[0, 1] * 500)]
    body = AddPartitionsToTxnRequest(v3_and_below_transactional_id="tx", v3_and_below_topics=topics)
    if version == 4:
        body = AddPartitionsToTxnRequest(transactions=[_Transaction(transactional_id="tx", topics=topics)])
    coordinator = ScriptedCoordinator()
    handler = AddPartitionsToTxnHandler(coordinator, cache_of(topics=TOPICS), ALLOW_ALL)
    request, responses = request_of(body, version, from_broker()), list[Any]()
    task = CooperativeTask(lambda: responses.append(handler(request)))
    slices = 0
    while not task.dead:
        task.run_slice(0)
        slices += 1
    assert slices > 2_000
    assert len(coordinator.calls) == 1


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_or_verify_many_transactions(version: int) -> None:
    coordinator = ScriptedCoordinator()
    rows = [("a", False, [0]), ("b", True, [0]), ("c", False, [0, 9])]
    body = AddPartitionsToTxnRequest(
        transactions=[
            _Transaction(
                transactional_id=name,
                producer_id=7,
                producer_epoch=3,
                verify_only=verify,
                topics=[_Topic(name="t", partitions=indexes)],
            )
            for name, verify, indexes in rows
        ]
    )
    handler = AddPartitionsToTxnHandler(coordinator, cache_of(topics=TOPICS), ALLOW_ALL)
    response = response_to(handler, request_of(body, version, from_broker()))
    results = {
        row.transactional_id: [p.partition_error_code for t in row.topic_results for p in t.results_by_partition]
        for row in response.results_by_transaction
    }
    not_attempted = [Error.OPERATION_NOT_ATTEMPTED, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert results == {"a": [0], "b": [0], "c": not_attempted}
    partition = [TopicPartition("t", 0)]
    assert coordinator.calls == [("a", (7, 3), partition, 2), ("b", (7, 3), partition, "verify")]


def test_the_versions_of_brokers_are_not_for_clients() -> None:
    body = AddPartitionsToTxnRequest(transactions=[])
    handler = AddPartitionsToTxnHandler(ScriptedCoordinator(), cache_of(), ALLOW_ALL)
    response = response_to(handler, request_of(body, 4, context()))
    assert response.error_code == Error.CLUSTER_AUTHORIZATION_FAILED


def test_offsets_add_the_partition_of_the_group() -> None:
    coordinator = ScriptedCoordinator()
    body = AddOffsetsToTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=3, group_id="g")
    rights = [("alice", "WRITE", "transactional_id:tx"), ("alice", "READ", "group:g")]
    for missing, code in (
        (0, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (1, Error.GROUP_AUTHORIZATION_FAILED),
        (None, Error.NONE),
    ):
        authorizer = acl(*(right for index, right in enumerate(rights) if index != missing))
        handler = offsets_handler(coordinator, authorizer)
        assert response_to(handler, request_of(body, 4)).error_code == code
    assert coordinator.calls == [("tx", (7, 3), [TopicPartition("__consumer_offsets", ord("g") % 50)], 0)]


def test_offsets_of_a_cluster_without_their_topic_create_it() -> None:
    coordinator, cache = ScriptedCoordinator(), cache_of()
    creation = Creation(cache)
    handler = AddOffsetsToTxnHandler(coordinator, Groups(), cache, ALLOW_ALL, creation)
    body = AddOffsetsToTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=3, group_id="g")
    for _ in range(2):
        assert response_to(handler, request_of(body, 4)).error_code == Error.NONE
    assert creation.topics == ["__consumer_offsets"]
    assert [partitions[0].topic for _, _, partitions, _ in coordinator.calls] == ["__consumer_offsets"] * 2


def test_offsets_are_not_added_while_their_topic_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_partitions_to_txn, "_TOPIC_TIMEOUT_S", 0)
    coordinator = ScriptedCoordinator()
    handler = AddOffsetsToTxnHandler(coordinator, Groups(), cache_of(), ALLOW_ALL, Creation())
    body = AddOffsetsToTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=3, group_id="g")
    assert response_to(handler, request_of(body, 4)).error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert coordinator.calls == []
