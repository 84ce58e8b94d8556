"""`make pipeline-security`: `signalbox pipeline tables --command-config` on listeners with TLS, a client certificate
and each login, in both profiles. Each run starts Spark, which is too slow for `make system`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    with secured_cluster(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(scope="module")
def topic(cluster: SecuredCluster) -> str:
    return filled_topic(cluster)


@pytest.mark.parametrize("profile", ["jars", "pypi"])
@pytest.mark.parametrize("kind", LISTENERS)
def test_a_secured_topic_becomes_a_table(
    cluster: SecuredCluster, topic: str, tmp_path: Path, kind: str, profile: str
) -> None:
    access = cluster.access(KINDS[kind])
    properties = tmp_path / "client.properties"
    lines = [f"{key}={value}" for key, value in properties_of(access, tmp_path).items()]
    properties.write_text("\n".join(lines) + "\n")
    arguments = ["-b", access.servers, "--command-config", str(properties), "--warehouse", str(tmp_path / "lake")]
    run = subprocess.run(
        [*SIGNALBOX, topic, *arguments, "--profile", profile, "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["table_rows"] == RECORDS
    written = [path.read_bytes() for path in (tmp_path / "lake").rglob("*") if path.is_file()]
    for secret in (PASSWORD, "client-secret"):
        assert secret not in run.stdout + run.stderr
        assert all(secret.encode() not in content for content in written)
