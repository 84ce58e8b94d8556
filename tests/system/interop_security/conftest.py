"""One cluster and one process of each client for the whole matrix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewTopic

from tests.system.guarded import described
from tests.system.interop_security.clients import Clients
from tests.system.interop_security.matrix import KINDS, cells
from tests.system.interop_security.secured_cluster import BROKERS, PASSWORD, USER, SecuredCluster
from tests.waiting import until


def topic_of(row: str, client: str) -> str:
    """Each cell has a topic of its own."""
    return f"{client}-{row}".lower().replace(" ", "-").replace("_", "-")


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    cluster = SecuredCluster(tmp_path_factory.mktemp("interop-security"))
    try:
        cluster.start()
        _prepare(cluster)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def clients(secured: SecuredCluster) -> Iterator[Clients]:
    running = Clients(secured.token_urls)
    yield running
    running.close()


def _prepare(cluster: SecuredCluster) -> None:
    """Creates a topic for each cell, and the SCRAM user, and waits until every broker has them."""
    servers = cluster.access(KINDS["PLAINTEXT"]).servers
    names = {topic_of(row, client) for row, client in cells()}
    admins = [AdminClient({"bootstrap.servers": each, "log_level": 0}) for each in (servers, *servers.split(","))]
    for made in admins[0].create_topics([NewTopic(name, 2, BROKERS) for name in names], operation_timeout=30).values():
        made.result(60)
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        user = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4_096), PASSWORD.encode())
        admins[0].alter_user_scram_credentials([user])[USER].result(30)
    for admin in admins[1:]:
        until(partial(_knows_all, admin, names), "topics and user on every broker")


def _knows_all(admin: AdminClient, names: set[str]) -> bool:
    user = described(admin, USER)[USER]
    try:
        mechanisms = len(user.result(20).scram_credential_infos)
    except KafkaException:  # RESOURCE_NOT_FOUND: not yet
        return False
    return mechanisms == 2 and names <= set(admin.list_topics(timeout=20).topics)
