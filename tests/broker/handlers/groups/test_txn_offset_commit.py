from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from signalbox.broker.handlers.groups.txn_offset_commit import TxnOffsetCommitHandler
from signalbox.broker.transactions.transaction_verifier import Errors, ProducerTransaction, TransactionVerifier
from signalbox.broker.transactions.transactional_produce import VerificationSettings
from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF, VerificationGuard
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to, topic_id

pytestmark = pytest.mark.spec("D5")
TOPICS = {"t": {0: (1, [1])}, "secret": {0: (1, [1])}}
_Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_Partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition


class Coordinator(GroupCoordinator):
    """Accepts what it gets, or returns an error for it."""

    def __init__(self, error: Error = Error.NONE) -> None:
        self.error = error
        self.requests: list[TxnOffsetCommitRequest] = []
        self.guard: object = VerificationGuard()
        self.committed_with: list[object | None] = []
        self.rejection = Error.NONE
        self.abandoned: list[tuple[str, int, object]] = []

    def abandon_verification(self, group_id: str, producer_id: int, guard: object) -> None:
        self.abandoned.append((group_id, producer_id, guard))

    def start_verification(self, group_id: str, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        assert (group_id, producer) == ("g", (7, 3))
        if self.rejection is not Error.NONE:
            raise KafkaError(self.rejection)
        return self.guard

    def partition_for(self, group_id: str) -> int:
        return 4

    def txn_offset_commit(
        self, request: TxnOffsetCommitRequest, guard: object | None = None
    ) -> Promise[TxnOffsetCommitResponse]:
        self.requests.append(request)
        self.committed_with.append(guard)
        topic, partition = (
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic,
            TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition,
        )
        return Promise.of(
            TxnOffsetCommitResponse(
                topics=[
                    topic(name=row.name, topic_id=row.topic_id, partitions=[partition(error_code=self.error)])
                    for row in request.topics
                ]
            )
        )


class Verifier(TransactionVerifier):
    """Verifies every transaction, or returns an error for it."""

    def __init__(self, error: Error = Error.NONE) -> None:
        self.error = error
        self.calls: list[tuple[ProducerTransaction, list[TopicPartition]]] = []

    def verify(self, transaction: ProducerTransaction, partitions: Iterable[TopicPartition]) -> Promise[Errors]:
        partitions = list(partitions)
        self.calls.append((transaction, partitions))
        return Promise.of(dict.fromkeys(partitions, self.error) if self.error else {})


def commit(
    coordinator: Coordinator,
    version: int,
    authorizer: Any = ALLOW_ALL,
    names: tuple[str, ...] = ("t",),
    verifier: Verifier | None = None,
    *,
    is_enabled: bool = True,
    group_id: str = "g",
) -> Any:
    body = TxnOffsetCommitRequest(
        transactional_id="tx",
        group_id=group_id,
        producer_id=7,
        producer_epoch=3,
        topics=[
            _Topic(name=name, topic_id=topic_id(name), partitions=[_Partition(partition_index=0, committed_offset=5)])
            for name in names
        ],
    )
    settings = VerificationSettings(lambda: is_enabled)
    handler = TxnOffsetCommitHandler(coordinator, cache_of(topics=TOPICS), authorizer, verifier or Verifier(), settings)
    return response_to(handler, request_of(body, version))


def errors(response: Any) -> list[int]:
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_gets_names_at_every_version(version: int) -> None:
    coordinator = Coordinator()
    assert errors(commit(coordinator, version)) == [Error.NONE]
    (request,) = coordinator.requests
    assert [topic.name for topic in request.topics] == ["t"]


def test_an_unknown_topic_id() -> None:
    coordinator = Coordinator()
    response = commit(coordinator, 6, names=("t", "nowhere"))
    assert [topic.topic_id for topic in response.topics] == [topic_id("t"), topic_id("nowhere")]
    assert errors(response) == [Error.NONE, Error.UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (0, [Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2),
        (1, [Error.GROUP_AUTHORIZATION_FAILED] * 2),
        (2, [Error.TOPIC_AUTHORIZATION_FAILED] * 2),
        (None, [Error.NONE, Error.TOPIC_AUTHORIZATION_FAILED]),
    ],
)
def test_authorization(missing: int | None, expected: list[Error]) -> None:
    rights = [("alice", "WRITE", "transactional_id:tx"), ("alice", "READ", "group:g"), ("alice", "READ", "t")]
    authorizer = acl(*(right for index, right in enumerate(rights) if index != missing))
    assert errors(commit(Coordinator(), 5, authorizer, ("t", "secret"))) == expected


@pytest.mark.parametrize(
    ("version", "code"), [(1, Error.COORDINATOR_NOT_AVAILABLE), (2, Error.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_early_clients_do_not_know_that_a_coordinator_loads(version: int, code: Error) -> None:
    assert errors(commit(Coordinator(Error.COORDINATOR_LOAD_IN_PROGRESS), version)) == [code]


@pytest.mark.parametrize("version", [4, 6])
def test_a_group_without_a_name_is_rejected_before_its_partition_is_verified_or_added(version: int) -> None:
    verifier = Verifier()
    assert errors(commit(Coordinator(), version, verifier=verifier, group_id="")) == [Error.INVALID_GROUP_ID]
    assert verifier.calls == []


@pytest.mark.parametrize("version", [4, 5])
def test_the_partition_of_the_group_is_verified_or_from_version_5_on_added(version: int) -> None:
    verifier = Verifier()
    commit(Coordinator(), version, verifier=verifier)
    partition = TopicPartition("__consumer_offsets", 4)
    assert verifier.calls == [(ProducerTransaction("tx", 7, 3, version == 5), [partition])]


def test_the_offsets_are_appended_with_the_guard_that_was_taken_before_the_verification() -> None:
    coordinator = Coordinator()
    commit(coordinator, 4)
    assert coordinator.committed_with == [coordinator.guard]


def test_an_open_transaction_is_not_verified_again() -> None:
    coordinator, verifier = Coordinator(), Verifier()
    coordinator.guard = ALREADY_ONGOING
    assert errors(commit(coordinator, 5, verifier=verifier)) == [Error.NONE]
    assert (coordinator.committed_with, verifier.calls) == ([ALREADY_ONGOING], [])


def test_verification_can_be_switched_off_but_adding_the_partition_cannot() -> None:
    coordinator, verifier = Coordinator(), Verifier()
    commit(coordinator, 4, verifier=verifier, is_enabled=False)
    assert (coordinator.committed_with, verifier.calls) == ([SWITCHED_OFF], [])
    commit(coordinator, 5, verifier=verifier, is_enabled=False)
    assert len(verifier.calls) == 1


def test_without_the_leadership_no_transaction_is_verified() -> None:
    coordinator, verifier = Coordinator(), Verifier()
    coordinator.rejection = Error.NOT_COORDINATOR
    assert errors(commit(coordinator, 4, verifier=verifier)) == [Error.NOT_COORDINATOR]
    assert (coordinator.requests, verifier.calls) == ([], [])


@pytest.mark.parametrize(
    ("error", "version", "code"),
    [
        (Error.NETWORK_EXCEPTION, 5, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (Error.NOT_COORDINATOR, 3, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (Error.CONCURRENT_TRANSACTIONS, 4, Error.COORDINATOR_LOAD_IN_PROGRESS),
        (Error.CONCURRENT_TRANSACTIONS, 5, Error.CONCURRENT_TRANSACTIONS),
        (Error.TRANSACTION_ABORTABLE, 3, Error.INVALID_TXN_STATE),
        (Error.TRANSACTION_ABORTABLE, 4, Error.TRANSACTION_ABORTABLE),
        (Error.INVALID_PRODUCER_EPOCH, 5, Error.INVALID_PRODUCER_EPOCH),
        (Error.UNKNOWN_TOPIC_OR_PARTITION, 5, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, 4, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, 5, Error.NOT_COORDINATOR),
    ],
)
def test_a_transaction_that_is_not_verified_commits_nothing(error: Error, version: int, code: Error) -> None:
    coordinator = Coordinator()
    assert errors(commit(coordinator, version, verifier=Verifier(error))) == [code]
    assert coordinator.requests == []
    is_final = error in (Error.TRANSACTION_ABORTABLE, Error.INVALID_PRODUCER_EPOCH)
    assert coordinator.abandoned == ([("g", 7, coordinator.guard)] if is_final else [])
