"""Connections that meant another node or cluster (KIP-1242), as frames: who is refused, where, and that it is seen."""

from __future__ import annotations

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from tests.system.clusters import RoutedCluster, metric
from tests.system.wire import dial

_MISROUTED = "kafka_network_socketserver_misroutedconnections_total"
_WRONG = "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.spec("R1", "R2")
@pytest.mark.parametrize("listener", ["CLIENT", "REPLICATION", "CONTROL"])
def test_the_table_of_identities(cluster: RoutedCluster, listener: str) -> None:
    """Measured against Apache Kafka 4.4.0; the connection stays open after each."""
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
    # each refused row was asked twice
    assert metric(cluster, 1, _MISROUTED, listener=listener) == before + 4


@pytest.mark.spec("R3")
def test_a_refusal_is_logged(cluster: RoutedCluster) -> None:
    with dial(cluster, 3) as wire:
        lost = ApiVersionsRequest(
            client_software_name="wire", client_software_version="1", cluster_id=_WRONG, node_id=99
        )
        assert wire.ask(ApiKey.API_VERSIONS, 5, lost).error_code == 129
    log = cluster.brokers[3].log_file.read_text()
    assert _WRONG in log
    assert "99" in log
