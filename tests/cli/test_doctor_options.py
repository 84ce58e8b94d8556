"""`signalbox doctor`: named groups and transactional ids, and what the client properties say."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.client.admin_apis.group_admin import GROUP, TRANSACTION, find_coordinator
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.waiting import until

pytestmark = [pytest.mark.spec("R8"), pytest.mark.kafka_cluster(brokers=2)]


def doctor(cluster: KafkaCluster, *options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", cluster.bootstrap_servers, *options])


def coordinator_of(cluster: KafkaCluster, key: str, kind: int) -> int | None:
    """The first question creates the internal topic."""
    try:
        return cluster.client.call(find_coordinator, cluster.client.admin.client, key, kind)
    except KafkaError as error:
        if error.error != Error.COORDINATOR_NOT_AVAILABLE:
            raise
        return None


def test_coordinators_of_named_groups_and_transactional_ids(own_kafka_cluster: KafkaCluster) -> None:
    named = ("--group", "payments", "--transactional-id", "tx")
    before = doctor(own_kafka_cluster, *named)
    assert before.exit_code == 2, "it was asked for by name"
    assert "not checked: FindCoordinator: the topic __consumer_offsets does not exist" in before.stdout
    assert "unknown: NOT_CHECKED: " in before.stdout
    unasked = doctor(own_kafka_cluster)
    assert unasked.exit_code == 0, unasked.output
    nodes = [
        until(lambda key=key, kind=kind: coordinator_of(own_kafka_cluster, key, kind))  # type: ignore[misc]
        for key, kind in (("payments", GROUP), ("tx", TRANSACTION))
    ]
    after = doctor(own_kafka_cluster, *named)
    assert after.exit_code == 0, after.output
    for name, node_id in zip(("group payments", "transactional id tx"), nodes, strict=True):
        host, port = own_kafka_cluster.advertised(node_id)
        assert f"  coordinator of {name}: node {node_id} at {host}:{port}\n" in after.stdout


@pytest.mark.parametrize(
    ("line", "code", "status"),
    [
        ("metadata.recovery.strategy=none", "RECOVERY_DISABLED", 0),
        ("metadata.cluster.check.enable=false", "CHECK_DISABLED", 0),
        ("signalbox.cluster.id.policy=pin:OTHERCLUSTER", "PINNED_OTHER_CLUSTER", 1),
    ],
)
def test_client_properties_that_do_not_fit(
    kafka_cluster: KafkaCluster, tmp_path: Path, line: str, code: str, status: int
) -> None:
    config = tmp_path / "client.properties"
    config.write_text(line)
    result = doctor(kafka_cluster, "--command-config", str(config))
    assert result.exit_code == status, result.output
    assert f": {code}: " in result.stdout
