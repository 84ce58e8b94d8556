"""`make pipeline-security`: `signalbox pipeline tables --command-config` on listeners with TLS, a client certificate
and each login, of Signalbox and of Apache Kafka 4.4, in both profiles. Each run starts Spark, which is too slow for
`make system`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.pipeline.topics import Topics, json_values
from tests.system.doctor.apache_cluster import PASSWORD as APACHE_PASSWORD
from tests.system.doctor.apache_cluster import ApacheCluster
from tests.system.interop_security.matrix import KINDS
from tests.system.interop_security.secured_cluster import PASSWORD, SecuredCluster
from tests.system.pipeline.secured_topic import RECORDS, filled_topic, properties_of, secured_cluster

pytestmark = [pytest.mark.spec("P9"), pytest.mark.timeout(400)]
SIGNALBOX = [str(Path(sys.executable).parent / "signalbox"), "pipeline", "tables"]
LISTENERS = (
    "SSL mutual",
    "SASL_PLAINTEXT PLAIN",
    "SASL_PLAINTEXT OAUTHBEARER",
    "SASL_SSL SCRAM-SHA-512",
)
SECRETS = (PASSWORD, APACHE_PASSWORD, "client-secret")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(scope="module")
def topic(cluster: SecuredCluster) -> str:
    return filled_topic(cluster)


@pytest.fixture(scope="module")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    with ApacheCluster("kafka44", tmp_path_factory.mktemp("apache")) as running:
        yield running


@pytest.fixture(scope="module")
def apache_topic(apache: ApacheCluster) -> str:
    topics = Topics(apache.entry("CLIENT"))
    topics.fill(topic := topics.create("secured"), json_values(0, RECORDS))
    return topic


def read_into_a_table(topic: str, servers: str, properties: Mapping[str, str], folder: Path, profile: str) -> str:
    """Runs the command with a properties file; returns its output, which has no secret, and neither has the table."""
    file = folder / "client.properties"
    lines = (f"{key}={value}".replace("\n", "\\n") for key, value in properties.items())
    file.write_text("\n".join(lines) + "\n")
    arguments = ["-b", servers, "--command-config", str(file), "--warehouse", str(folder / "lake")]
    run = subprocess.run(
        [*SIGNALBOX, topic, *arguments, "--profile", profile, "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    written = [path.read_bytes() for path in (folder / "lake").rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert secret not in run.stdout + run.stderr
        assert all(secret.encode() not in content for content in written)
    return run.stdout


@pytest.mark.parametrize("profile", ["jars", "pypi"])
@pytest.mark.parametrize("kind", LISTENERS)
def test_a_secured_topic_becomes_a_table(
    cluster: SecuredCluster, topic: str, tmp_path: Path, kind: str, profile: str
) -> None:
    access = cluster.access(KINDS[kind])
    output = read_into_a_table(topic, access.servers, properties_of(access, tmp_path), tmp_path, profile)
    assert json.loads(output)["table_rows"] == RECORDS


@pytest.mark.parametrize("profile", ["jars", "pypi"])
@pytest.mark.parametrize("listener", ["MUTUAL", "SASL", "BOTH", "SCRAM", "TOKEN"])
def test_a_secured_topic_of_apache_kafka_becomes_a_table(
    apache: ApacheCluster, apache_topic: str, tmp_path: Path, listener: str, profile: str
) -> None:
    servers, properties = apache.entry(listener), apache.properties(listener)
    output = read_into_a_table(apache_topic, servers, properties, tmp_path, profile)
    assert json.loads(output)["table_rows"] == RECORDS
