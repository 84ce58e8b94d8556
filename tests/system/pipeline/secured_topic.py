"""A topic with records on brokers that have every kind of listener, and the client properties for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from signalbox.security.jaas import MODULE_OF_MECHANISM
from tests.pipeline.topics import Topics, json_values
from tests.system.guarded import described
from tests.system.interop_security.access import Access
from tests.system.interop_security.matrix import KINDS
from tests.system.interop_security.secured_cluster import BROKERS, PASSWORD, USER, SecuredCluster
from tests.waiting import until

RECORDS = 40


@contextmanager
def secured_cluster(folder: Path) -> Iterator[SecuredCluster]:
    """A running cluster with every kind of listener."""
    running = SecuredCluster(folder)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def filled_topic(cluster: SecuredCluster) -> str:
    """Creates the topic with RECORDS records, and the users of the SCRAM mechanisms."""
    servers = cluster.access(KINDS["PLAINTEXT"]).servers
    topics = Topics(servers, replicas=BROKERS)
    topics.fill(topic := topics.create("secured"), json_values(0, RECORDS))
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        user = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4_096), PASSWORD.encode())
        admin.alter_user_scram_credentials([user])[USER].result(30)
    for server in servers.split(","):
        until(
            partial(_has_user, AdminClient({"bootstrap.servers": server, "log_level": 0})), "the user on every broker"
        )
    return topic


def _has_user(admin: AdminClient) -> bool:
    try:
        return len(described(admin, USER)[USER].result(20).scram_credential_infos) == 2
    except KafkaException:  # RESOURCE_NOT_FOUND: not yet
        return False


def properties_of(access: Access, folder: Path) -> dict[str, str]:
    """The access as client properties by Java's names. `folder` receives the key store."""
    properties = {"security.protocol": access.protocol}
    if access.uses_tls:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": access.ca_file}
    if access.certificate_file:
        store = folder / "store.pem"
        store.write_text(Path(access.key_file).read_text() + Path(access.certificate_file).read_text())
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
    if access.mechanism:
        module = f"{MODULE_OF_MECHANISM[access.mechanism]} required"
        login = f'username="{access.user}" password="{access.password}"'
        if access.mechanism == "OAUTHBEARER":
            login = 'clientId="client" clientSecret="client-secret"'
            properties["sasl.oauthbearer.token.endpoint.url"] = access.token_url
        properties |= {"sasl.mechanism": access.mechanism, "sasl.jaas.config": f"{module} {login};"}
    return properties
