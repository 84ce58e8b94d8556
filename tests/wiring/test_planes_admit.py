"""The privileged listener, the APIs that each listener accepts, the list of ApiVersions: every cell of SPEC C,
"Resolved".

Each of the three configurations is a running broker. The cells are tested over the wire, as a client finds them.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.testing.cluster import Cluster

NONE, NAMED, FORCED = "no control plane", "control plane", "forced"
OVERRIDES = {
    NONE: {"control.plane.listener.name": "", "control.plane.force.controller.requests.enable": "false"},
    NAMED: {"control.plane.force.controller.requests.enable": "false"},
    FORCED: {"control.plane.force.controller.requests.enable": "true"},
}
SET_UP = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
THE_FOUR = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN}

# The result of a request on a listener: it is accepted, rejected with CLUSTER_AUTHORIZATION_FAILED, or the connection
# is closed.
TAKEN, DENIED, CLOSED = "taken", "denied", "closed"
OLD: Mapping[str, Any] = {"controller_id": 9, "controller_epoch": 0, "broker_epoch": -1}
REQUESTS = {
    ApiKey.LEADER_AND_ISR: (7, LeaderAndIsrRequest(**OLD)),
    ApiKey.UPDATE_METADATA: (8, UpdateMetadataRequest(**OLD)),
    ApiKey.STOP_REPLICA: (4, StopReplicaRequest(**OLD)),
    ApiKey.CONTROLLED_SHUTDOWN: (3, ControlledShutdownRequest(broker_id=99, broker_epoch=-1)),
    ApiKey.ENVELOPE: (
        0,
        EnvelopeRequest(request_data=b"", request_principal=b"", client_host_address=b"\x7f\0\0\1"),
    ),
    ApiKey.ALTER_PARTITION: (3, AlterPartitionRequest(broker_id=99, broker_epoch=-1)),
    ApiKey.ALLOCATE_PRODUCER_IDS: (0, AllocateProducerIdsRequest(broker_id=99, broker_epoch=-1)),
    ApiKey.METADATA: (12, MetadataRequest(topics=[])),
}
# (configuration, listener) → result of: the four, an Envelope, AlterPartition and AllocateProducerIds, Metadata.
CELLS = {
    (NONE, "CLIENT"): (DENIED, CLOSED, DENIED, TAKEN),
    (NONE, "REPLICATION"): (TAKEN, TAKEN, TAKEN, TAKEN),
    (NONE, "CONTROL"): (DENIED, CLOSED, DENIED, TAKEN),
    (NAMED, "CLIENT"): (DENIED, CLOSED, DENIED, TAKEN),
    (NAMED, "REPLICATION"): (TAKEN, CLOSED, TAKEN, TAKEN),
    (NAMED, "CONTROL"): (TAKEN, TAKEN, TAKEN, TAKEN),
    (FORCED, "CLIENT"): (DENIED, CLOSED, DENIED, TAKEN),
    (FORCED, "REPLICATION"): (TAKEN, TAKEN, TAKEN, TAKEN),
    (FORCED, "CONTROL"): (TAKEN, CLOSED, CLOSED, CLOSED),
}
PRIVILEGED = {NONE: "REPLICATION", NAMED: "CONTROL", FORCED: "REPLICATION"}


@pytest.fixture(scope="module", params=[NONE, NAMED, FORCED])
def configured(request: pytest.FixtureRequest) -> Iterator[tuple[str, Cluster]]:
    with Cluster(brokers=1, overrides=OVERRIDES[request.param]) as cluster:
        yield request.param, cluster


class Peer:
    """One connection to a listener of the only broker."""

    def __init__(self, cluster: Cluster, listener: str) -> None:
        host, _, port = cluster.nodes[1].describe()["listeners"][listener].rpartition(":")
        self._sock = socket.create_connection((host, int(port)), timeout=15)
        self._stream = self._sock.makefile("rb")

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._sock.close()

    def becomes_of(self, key: ApiKey) -> str:
        version, request = REQUESTS[key]
        answer = self.ask(key, version, request.encode(version))
        if answer is None:
            return CLOSED
        body, _ = API_TABLE[key].response.decode_prefix(
            answer, version, decode_response_header(answer, key, version)[1]
        )
        return DENIED if getattr(body, "error_code", 0) == Error.CLUSTER_AUTHORIZATION_FAILED else TAKEN

    def ask(self, key: ApiKey, version: int, body: bytes) -> bytes | None:
        asked = encode_request_header(key, version, 1, "peer") + body
        self._sock.sendall(len(asked).to_bytes(4) + asked)
        size = self._stream.read(4)
        return self._stream.read(int.from_bytes(size)) if size else None


@pytest.mark.spec("C1", "C2", "C3", "C4")
@pytest.mark.parametrize("listener", ["CLIENT", "REPLICATION", "CONTROL"])
def test_what_a_listener_admits(configured: tuple[str, Cluster], listener: str) -> None:
    configuration, cluster = configured
    four, envelope, from_brokers, data = CELLS[configuration, listener]
    wanted = {
        **dict.fromkeys(THE_FOUR, four),
        ApiKey.ENVELOPE: envelope,
        ApiKey.ALTER_PARTITION: from_brokers,
        ApiKey.ALLOCATE_PRODUCER_IDS: from_brokers,
        ApiKey.METADATA: data,
    }
    found = {}
    for key in wanted:
        with Peer(cluster, listener) as peer:
            found[key] = peer.becomes_of(key)
    assert found == wanted


@pytest.mark.spec("C4")
@pytest.mark.parametrize("listener", ["CLIENT", "REPLICATION", "CONTROL"])
def test_what_api_versions_lists(configured: tuple[str, Cluster], listener: str) -> None:
    configuration, cluster = configured
    with Peer(cluster, listener) as peer:
        answer = peer.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest().encode(0))
    assert answer is not None
    body, _ = API_TABLE[ApiKey.API_VERSIONS].response.decode_prefix(answer, 0, 4)
    listed = {row.api_key for row in body.api_keys}
    if (configuration, listener) == (FORCED, "CONTROL"):
        assert listed == THE_FOUR | SET_UP
    else:
        assert listed > SET_UP | {ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH}
        of_brokers = {*THE_FOUR, ApiKey.ENVELOPE, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS}
        # An API that is always rejected on a listener is not listed there.
        assert listed & of_brokers == (of_brokers if CELLS[configuration, listener][0] == TAKEN else set())


@pytest.mark.spec("C1", "C2")
def test_which_listener_is_privileged(configured: tuple[str, Cluster]) -> None:
    configuration, cluster = configured
    table = cluster.nodes[1].components.server.table
    assert [row.name for row in table if row.privileged] == [PRIVILEGED[configuration]]
    assert table.privileged_listener_name == PRIVILEGED[configuration]
    planes = {row.name: row.plane for row in table}
    assert planes == {
        "CLIENT": "data",
        "REPLICATION": "data",
        "CONTROL": "data" if configuration == NONE else "control",
    }
