"""Transactions of two principals in a cluster with an authorizer: WRITE on the transactional id decides, for a real
producer and for requests about the transaction of another principal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.secured import USERS, admin_of, create, properties
from tests.system.transactions.requests import TransactionalRequests, end_offsets
from tests.system.wire import Wire, dial, log_in
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.spec("D5")]

TOPIC = "payments"
REJECTED = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """One broker, on which mallory may write to the topic."""
    folder: Path = tmp_path_factory.mktemp("acls")
    with ProcessCluster(folder, 1, overrides=properties()) as running:
        create(admin_of(running, "admin"), TOPIC)
        grant(running, ResourceType.TOPIC, TOPIC)
        yield running


def grant(cluster: ProcessCluster, resource: ResourceType, name: str, *, prefixed: bool = False) -> None:
    """Allows mallory to write to the resource."""
    pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
    right = AclBinding(resource, name, pattern, "User:mallory", "*", AclOperation.WRITE, AclPermissionType.ALLOW)
    admin = admin_of(cluster, "admin")
    for created in admin.create_acls([right]).values():
        created.result(60)


def producer_of(cluster: ProcessCluster, user: str, transactional_id: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap(),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": USERS[user],
            "transactional.id": transactional_id,
            "log_level": 2,
        }
    )


def connection(cluster: ProcessCluster, user: str) -> Wire:
    wire = dial(cluster)
    assert log_in(wire, user, USERS[user]) == 0
    return wire


def test_a_producer_needs_the_right_for_its_transactional_id(cluster: ProcessCluster) -> None:
    with pytest.raises(KafkaException) as rejected:
        producer_of(cluster, "mallory", "shop-1").init_transactions(60)
    assert rejected.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    grant(cluster, ResourceType.TRANSACTIONAL_ID, "shop-", prefixed=True)
    producer = producer_of(cluster, "mallory", "shop-1")
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(TOPIC, b"paid")
    producer.commit_transaction(60)
    with connection(cluster, "admin") as wire:
        until(lambda: end_offsets(wire, TOPIC, [0], stable=True) == {0: 2}, "the record and its marker")


def test_no_request_of_another_principal_reaches_a_transaction(cluster: ProcessCluster) -> None:
    with connection(cluster, "admin") as wire, connection(cluster, "mallory") as other:
        owner = TransactionalRequests(wire, "ledger", TOPIC)
        assert [owner.init(), owner.add(), owner.produce()] == [Error.NONE] * 3
        intruder = TransactionalRequests(other, "ledger", TOPIC)
        intruder.producer = owner.producer
        lookup = FindCoordinatorRequest(coordinator_keys=["ledger"], key_type=1)
        assert other.ask(ApiKey.FIND_COORDINATOR, 4, lookup).coordinators[0].error_code == REJECTED
        takeover = InitProducerIdRequest(transactional_id="ledger", transaction_timeout_ms=60_000)
        assert other.ask(ApiKey.INIT_PRODUCER_ID, 5, takeover).error_code == REJECTED
        assert [intruder.add(), intruder.produce(), intruder.add_offsets()] == [REJECTED] * 3
        assert [intruder.commit_offsets(), intruder.end(committed=False)] == [REJECTED] * 2
        before = end_offsets(wire, TOPIC, [0], stable=True)
        assert owner.end(committed=True) is Error.NONE
        until(lambda: end_offsets(wire, TOPIC, [0], stable=True) != before, "the commit")
        # Readers see the marker a moment before the coordinator ends the transaction.
        until(lambda: owner.add() is not Error.CONCURRENT_TRANSACTIONS, "the end of the transaction")
        assert owner.end(committed=False) is Error.NONE
