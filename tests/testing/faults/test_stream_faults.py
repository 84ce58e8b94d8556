"""Bytes that are late, held back or cut off."""

from __future__ import annotations

import socket
import time

import pytest

from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.testing.faults import (
    CutAfterBytes,
    Delay,
    DropResponses,
    Fault,
    HalfOpen,
    ResetConnections,
    Stall,
)
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.testing.faults.probes import metadata_of

pytestmark = pytest.mark.spec("R7")

_API_VERSIONS_0 = bytes.fromhex("0000000a 0012 0000 00000007 ffff")


def first_bytes(cluster: KafkaCluster, timeout_s: float) -> bytes:
    """What a connection to broker 1 receives for ApiVersions, up to its end or the timeout."""
    received = b""
    with socket.create_connection(cluster.advertised(1)) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.sendall(_API_VERSIONS_0)
            while piece := connection.recv(65_536):
                received += piece
                if len(received) > 4 and len(received) == 4 + int.from_bytes(received[:4], "big"):
                    break
        except TimeoutError:
            pass
        except ConnectionResetError:
            return received + b"!"
    return received


@pytest.mark.parametrize("fault", [Stall(1), DropResponses(1)])
def test_nothing_arrives_until_the_fault_is_taken_back(kafka_cluster: KafkaCluster, fault: Fault) -> None:
    with kafka_cluster.faults(fault):
        assert first_bytes(kafka_cluster, 0.2) == b""
        assert isinstance(metadata_of(kafka_cluster.advertised(2)), MetadataResponse)
    assert isinstance(metadata_of(kafka_cluster.advertised(1)), MetadataResponse)


def test_what_was_held_back_arrives_afterwards(kafka_cluster: KafkaCluster) -> None:
    applied = kafka_cluster.faults(DropResponses(1))
    with socket.create_connection(kafka_cluster.advertised(1)) as connection:
        connection.sendall(_API_VERSIONS_0)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        applied.remove()
        connection.settimeout(60)
        assert connection.recv(8)[4:] == b"\0\0\0\7"


def test_bytes_are_late_in_both_directions(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(Delay(1, 60)):
        before = time.monotonic()
        assert first_bytes(kafka_cluster, 60)
        assert time.monotonic() - before >= 0.12


@pytest.mark.parametrize("size", [1, 6, 40])
def test_a_connection_ends_after_so_many_bytes_of_a_response(kafka_cluster: KafkaCluster, size: int) -> None:
    with kafka_cluster.faults(CutAfterBytes(1, size)):
        assert len(first_bytes(kafka_cluster, 60)) == size
        assert len(first_bytes(kafka_cluster, 60)) == size  # each connection has a limit of its own
    assert len(first_bytes(kafka_cluster, 60)) > 40


def test_a_connection_ends_after_so_many_bytes_of_a_request(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(CutAfterBytes(1, 5, of_responses=False)):
        assert first_bytes(kafka_cluster, 60) in (b"", b"!")


def open_connection(cluster: KafkaCluster) -> socket.socket:
    """A connection to broker 1 on which a response has arrived."""
    connection = socket.create_connection(cluster.advertised(1))
    connection.sendall(_API_VERSIONS_0)
    connection.settimeout(60)
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    connection.recv(size, socket.MSG_WAITALL)
    return connection


@pytest.mark.parametrize("once", [False, True])
def test_connections_are_reset(kafka_cluster: KafkaCluster, once: bool) -> None:
    with open_connection(kafka_cluster) as connection:
        with kafka_cluster.faults(ResetConnections(1, once=once)):
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
            assert (len(first_bytes(kafka_cluster, 60)) > 40) is once
        assert len(first_bytes(kafka_cluster, 60)) > 40


def test_a_half_open_connection_stays_silent_and_new_ones_work(kafka_cluster: KafkaCluster) -> None:
    with open_connection(kafka_cluster) as connection:
        with kafka_cluster.faults(HalfOpen(1)):
            assert len(first_bytes(kafka_cluster, 60)) > 40
        connection.sendall(_API_VERSIONS_0)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert kafka_cluster.switchboard.line("broker-1").home == [kafka_cluster.target(1)]
