"""ACLs as text, and at every broker."""

from __future__ import annotations

import pytest

from signalbox.client import AuthorizationFailed, SyncClient
from signalbox.client.admin_apis.acl_admin import text_of
from signalbox.testing.kafka_cluster.acl_texts import acl_of, acls_of
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.spec("R7")


@pytest.mark.parametrize(
    ("text", "acl"),
    [
        ("WRITE orders", "User:alice may WRITE TOPIC orders from *"),
        ("READ GROUP payments", "User:alice may READ GROUP payments from *"),
        ("ALL TOPIC eu-*", "User:alice may ALL TOPIC eu-* from *"),
        ("READ *", "User:alice may READ TOPIC * from *"),
        ("WRITE TRANSACTIONAL_ID tx", "User:alice may WRITE TRANSACTIONAL_ID tx from *"),
        ("DESCRIBE CLUSTER", "User:alice may DESCRIBE CLUSTER kafka-cluster from *"),
        ("WRITE TOPIC CLUSTER", "User:alice may WRITE TOPIC CLUSTER from *"),
    ],
)
def test_a_text_is_an_acl(text: str, acl: str) -> None:
    assert text_of(acl_of("alice", text)) == acl


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no operation; there are ALL, READ, WRITE"),
        ("write orders", "'write' is no operation"),
        ("WRITE", "'WRITE' is no ACL: 'WRITE orders'"),
        ("WRITE TABLE orders", "'WRITE TABLE orders' is no ACL"),
        ("WRITE TOPIC a b", "is no ACL"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        acl_of("alice", text)


def test_a_text_alone_is_no_list() -> None:
    with pytest.raises(ValueError, match=r"the ACLs of alice are a list of texts, as \['WRITE orders'\], not 'READ t'"):
        acls_of({"alice": "READ t"})


@pytest.mark.kafka_cluster(
    brokers=3,
    security="SASL_PLAINTEXT",
    mechanism="PLAIN",
    users={"alice": "a-secret", "bob": "b-secret"},
    topics={"orders": 3, "secret": 1},
    acls={"alice": ["WRITE orders"], "bob": ["READ ord*"]},
)
def test_every_broker_has_the_acls_when_the_cluster_is_ready(own_kafka_cluster: KafkaCluster) -> None:
    settings = own_kafka_cluster.client_config("alice").settings()
    with SyncClient(settings) as client, client.producer() as producer:
        for partition in range(3):
            producer.send("orders", b"x", partition=partition).result(60)
        with pytest.raises(AuthorizationFailed):
            producer.send("secret", b"x").result(60)
    assert [len(rows) for rows in own_kafka_cluster.topics.records("orders").values()] == [1, 1, 1]
    own = own_kafka_cluster.client_config("bob").settings()
    with SyncClient(own) as client, client.producer() as producer, pytest.raises(AuthorizationFailed):
        producer.send("orders", b"x").result(60)
