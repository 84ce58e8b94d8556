"""The pipeline's requests to every kind of listener, by the client properties of the other commands. The runs of Spark
on such listeners are `make pipeline-security`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.pipeline.client.librdkafka_settings import librdkafka_settings
from signalbox.pipeline.offsets import ranges_between
from signalbox.pipeline.topic_client import TopicClient, TopicError, new_reader, read_ranges
from tests.system.interop_security.matrix import FAULTS, KINDS
from tests.system.interop_security.secured_cluster import SecuredCluster
from tests.system.pipeline.secured_topic import RECORDS, filled_topic, properties_of, secured_cluster

pytestmark = [pytest.mark.spec("P9"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(scope="module")
def topic(cluster: SecuredCluster) -> str:
    return filled_topic(cluster)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_topic_is_read_through_every_kind_of_listener(
    cluster: SecuredCluster, topic: str, tmp_path: Path, kind: str
) -> None:
    access = cluster.access(KINDS[kind])
    settings = librdkafka_settings(properties_of(access, tmp_path))
    client = TopicClient(access.servers, settings, "test")
    ranges = ranges_between(client.offsets([topic], "earliest"), client.offsets([topic], "latest"))
    reader = new_reader(access.servers, settings, "test")
    assert sum(batch.num_rows for batch in read_ranges(reader, ranges)) == RECORDS
    reader.close()


@pytest.mark.parametrize(
    "fault",
    ["wrong password, PLAIN", "wrong password, SCRAM-SHA-512", "expired token, OAUTHBEARER", "no client certificate"],
)
def test_a_rejected_login_is_reported_at_once_and_without_the_password(
    cluster: SecuredCluster, topic: str, tmp_path: Path, fault: str
) -> None:
    access = cluster.faulty_access(FAULTS[fault])
    client = TopicClient(access.servers, librdkafka_settings(properties_of(access, tmp_path)), "test")
    with pytest.raises(TopicError, match=f"topic {topic} cannot be read: no broker can be used: ") as rejected:
        client.partitions([topic])
    assert "guess" not in str(rejected.value)
