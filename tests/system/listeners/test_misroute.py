"""Connections that meant another node or cluster (KIP-1242), as frames: which are rejected, where, and that metrics and
logs show it."""

from __future__ import annotations

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.testing.cluster import Cluster
from tests.system.clusters import RoutedCluster, metric
from tests.system.wire import Wire, dial, log_in

_MISROUTED = "signalbox_network_socketserver_misroutedconnections_total"
_WRONG = "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.spec("R1", "R2")
@pytest.mark.parametrize("listener", ["CLIENT", "REPLICATION", "CONTROL"])
def test_the_table_of_identities(cluster: RoutedCluster, listener: str) -> None:
    """Measured against Apache Kafka 4.4.0; the connection stays open after each row."""
    own = str(cluster.brokers[1].ready["cluster_id"])
    rows = ((own, 1, 0), (own, 2, 129), (_WRONG, 1, 129), (None, 1, 42), (own, -1, 42), (None, -1, 0))
    before = metric(cluster, 1, _MISROUTED, listener=listener)
    with dial(cluster, 1, listener) as wire:
        for cluster_id, node_id, error in rows:
            asked = ApiVersionsRequest(
                client_software_name="wire", client_software_version="1", cluster_id=cluster_id, node_id=node_id
            )
            answer = wire.ask(ApiKey.API_VERSIONS, 5, asked)
            assert (answer.error_code, bool(answer.api_keys)) == (error, error == 0), (cluster_id, node_id)
            if error:
                assert len(wire.ask_raw(ApiKey.API_VERSIONS, 5, asked.encode(5))) == 12
    # each rejected row was sent twice
    assert metric(cluster, 1, _MISROUTED, listener=listener) == before + 4


@pytest.mark.spec("R2")
def test_an_identity_is_compared_before_a_login_and_after_it() -> None:
    """On a SASL listener before authentication: the response names neither half of the identity, and the connection
    stays open."""
    overrides = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="s3cret";'
        ),
    }
    with Cluster(brokers=1, overrides=overrides) as cluster, Wire(cluster.bootstrap_servers) as wire:
        own = cluster.nodes[1].components.context.cluster_id
        wrong = [(own, 2), (_WRONG, 1)]
        bodies = []
        for cluster_id, node_id in wrong:
            asked = ApiVersionsRequest(
                client_software_name="wire", client_software_version="1", cluster_id=cluster_id, node_id=node_id
            )
            bodies.append(wire.ask_raw(ApiKey.API_VERSIONS, 5, asked.encode(5))[4:])
        assert bodies[0] == bodies[1]
        assert bodies[0][:2] == (129).to_bytes(2)
        assert log_in(wire, "alice", "s3cret") == 0
        for cluster_id, node_id, error in [(own, 1, 0), *((*pair, 129) for pair in wrong)]:
            asked = ApiVersionsRequest(
                client_software_name="wire", client_software_version="1", cluster_id=cluster_id, node_id=node_id
            )
            assert wire.ask(ApiKey.API_VERSIONS, 5, asked).error_code == error


@pytest.mark.spec("R3")
def test_a_rejection_is_logged(cluster: RoutedCluster) -> None:
    with dial(cluster, 3) as wire:
        lost = ApiVersionsRequest(
            client_software_name="wire", client_software_version="1", cluster_id=_WRONG, node_id=99
        )
        assert wire.ask(ApiKey.API_VERSIONS, 5, lost).error_code == 129
    log = cluster.brokers[3].log_file.read_text()
    assert _WRONG in log
    assert "99" in log
