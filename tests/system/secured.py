"""A cluster in which brokers and clients authenticate by SASL PLAIN, and the Envelopes that an attacker would send."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.principal import DefaultPrincipalBuilder, KafkaPrincipal
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.system.wire import dial, log_in

LISTENERS = ("CLIENT", "REPLICATION", "CONTROL")
USERS = {"broker": "broker-secret", "admin": "admin-secret", "mallory": "mallory-secret", "deputy": "deputy-secret"}


def properties() -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas = f'{module} username="broker" password="{USERS["broker"]}" {users};'
    return {
        **QUICK,
        "listener.security.protocol.map": ",".join(f"{name}:SASL_PLAINTEXT" for name in LISTENERS),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        **{f"listener.name.{name.lower()}.plain.sasl.jaas.config": jaas for name in LISTENERS},
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:broker;User:admin;User:deputy",
    }


def admin_of(cluster: ProcessCluster, user: str, node_id: int | None = None) -> AdminClient:
    servers = cluster.bootstrap() if node_id is None else cluster.brokers[node_id].address("CLIENT")
    return AdminClient(
        {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": USERS[user],
        }
    )


def envelope(topic: str, principal: str = "admin") -> EnvelopeRequest:
    """A CreateTopics that claims to come from an authorized principal."""
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    inner = encode_request_header(ApiKey.CREATE_TOPICS, 7, 1, "forger")
    inner += CreateTopicsRequest(topics=[new], timeout_ms=5_000).encode(7)
    return EnvelopeRequest(
        request_data=inner,
        request_principal=DefaultPrincipalBuilder().serialize(KafkaPrincipal("User", principal)),
        client_host_address=bytes([127, 0, 0, 1]),
    )


def create(client: AdminClient, topic: str, partitions: int = 1, replicas: int = 1) -> None:
    """Creates a topic and waits for it; KafkaException."""
    new = NewTopic(topic, partitions, replication_factor=replicas)
    client.create_topics([new], operation_timeout=20)[topic].result(30)


def topics_of(cluster: ProcessCluster) -> set[str]:
    """The topics in the metadata of any of the brokers."""
    found: set[str] = set()
    for node_id in cluster.brokers:
        found |= topics_on(cluster, node_id)
    return found


def topics_on(cluster: ProcessCluster, node_id: int) -> set[str]:
    """The topics in the metadata of one broker."""
    with dial(cluster, node_id) as wire:
        assert log_in(wire, "admin", USERS["admin"]) == 0
        return {each.name for each in wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).topics}
