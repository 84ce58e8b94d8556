"""One cluster and one process of each client for the whole matrix."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.system.clusters import until
from tests.system.interop_security.clients import Clients
from tests.system.interop_security.matrix import KINDS, cells
from tests.system.interop_security.secured_cluster import BROKERS, SecuredCluster


def topic_of(row: str, client: str) -> str:
    """Each cell has a topic of its own."""
    return f"{client}-{row}".lower().replace(" ", "-").replace("_", "-")


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    cluster = SecuredCluster(tmp_path_factory.mktemp("interop-security"))
    try:
        cluster.start()
        _make_topics(cluster)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def clients(secured: SecuredCluster) -> Iterator[Clients]:
    running = Clients(secured.token_urls)
    yield running
    running.close()


def _make_topics(cluster: SecuredCluster) -> None:
    names = [topic_of(row, client) for row, client in cells()]
    settings = {"security.protocol": "PLAINTEXT", "log_level": 0}
    first = AdminClient({"bootstrap.servers": cluster.access(KINDS["PLAINTEXT"]).servers, **settings})
    for made in first.create_topics([NewTopic(name, 2, BROKERS) for name in names], operation_timeout=30).values():
        made.result(60)
    for server in cluster.access(KINDS["PLAINTEXT"]).servers.split(","):
        one = AdminClient({"bootstrap.servers": server, **settings})
        until(lambda one=one: set(names) <= set(one.list_topics(timeout=20).topics), f"all topics on {server}")
