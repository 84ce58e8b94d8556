"""What tests of faults ask of a cluster: who answers at an address, and what happens to a request."""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import Misrouted
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.switchboard_line import Target

PATIENT = ConnectionSettings(client_id="probe", connect_timeout_ms=30_000, request_timeout_ms=30_000)
HURRIED = ConnectionSettings(client_id="probe", connect_timeout_ms=30_000, request_timeout_ms=200)


def node_at(cluster: KafkaCluster, target: Target, nodes: tuple[int, ...] = (1, 2, 3)) -> list[int]:
    """The nodes of the cluster that accept the connection at an address as the right one: one, or none."""
    return [node for node in nodes if accepts(target, cluster.cluster_id, node)]


def accepts(target: Target, cluster_id: str, node_id: int) -> bool:
    """Whether what listens at the address is this node."""

    async def probe() -> bool:
        try:
            connection = await connect(Address(*target), PATIENT, Identity(cluster_id, node_id))
        except Misrouted:
            return False
        connection.close()
        return True

    return asyncio.run(probe())


def ask(target: Target, *requests: Any, settings: ConnectionSettings = PATIENT) -> list[Any]:
    """The responses to requests that are sent one after the other on one connection, or the exceptions."""

    async def run() -> list[Any]:
        connection: ClientConnection = await connect(Address(*target), settings)
        try:
            return [await _result(connection, request) for request in requests]
        finally:
            connection.close()

    return asyncio.run(run())


async def _result(connection: ClientConnection, request: Any) -> Any:
    try:
        return await connection.request(request)
    except Exception as error:
        return error


def metadata_of(target: Target) -> MetadataResponse:
    """Metadata of all topics, as the address gives it."""
    [response] = ask(target, MetadataRequest(topics=None))
    assert isinstance(response, MetadataResponse), response
    return response
