"""The route probe: which node responds at an address, on Kafka clusters of any vendor and version (SPEC R8).

Steps: resolve, TCP, TLS, SASL, then identity (`route_probe/identity.py`). Read-only; connections are opened one after
the other. `signalbox doctor` examines whole clusters with more questions; this is the probe of one process.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity, Node
from signalbox.client.connection.stream_opener import resolve
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed, Misrouted, PeerBroke
from signalbox.client.route_probe.identity import identify
from signalbox.client.route_probe.route_evidence import RouteEvidence, RouteStatus
from signalbox.protocol.messages.metadata import MetadataRequest

_MAX_CANDIDATES = 64
_STAGE_STATUSES = {"resolve": RouteStatus.UNRESOLVED, "tcp": RouteStatus.REJECTED, "tls": RouteStatus.TLS}


class RouteProbe:
    """Probes addresses with one set of connection settings."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = replace(settings, identity_enabled=True)

    async def probe(self, address: Address, expected: Identity | None = None) -> list[RouteEvidence]:
        """One RouteEvidence per IP address of `address`."""
        try:
            ips = await resolve(address)
        except ConnectFailed as failure:
            unresolved = RouteEvidence(
                address=address, ip="", expected=expected, status=RouteStatus.UNRESOLVED, text=str(failure)
            )
            return [unresolved]
        return [await self._probe_ip(address, ip, expected) for ip in ips]

    async def _probe_ip(self, address: Address, ip: str, expected: Identity | None) -> RouteEvidence:
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            evidence = await self._identify(address, ip, expected)
        except ClientFailure as failure:
            evidence = RouteEvidence(
                address=address, ip=ip, expected=expected, status=_status_of(failure), text=str(failure)
            )
        return replace(evidence, duration_ms=(loop.time() - started) * 1000)

    async def _identify(self, address: Address, ip: str, expected: Identity | None) -> RouteEvidence:
        """The node that responds, and whether it is the expected one."""
        rejected = False
        connection: ClientConnection | None = None
        if expected is not None:
            try:
                connection = await connect(address, self._settings, expected, resolved=[ip])
            except Misrouted:
                rejected = True
        if connection is None:
            connection = await connect(address, self._settings, resolved=[ip])
        try:
            return await self._identify_on(connection, ip, expected, rejected)
        finally:
            connection.close("the probe is over")

    async def _identify_on(
        self, connection: ClientConnection, ip: str, expected: Identity | None, rejected: bool
    ) -> RouteEvidence:
        found = await identify(connection, expected, rejected, _MAX_CANDIDATES)
        evidence = RouteEvidence(
            address=connection.address,
            ip=ip,
            expected=expected,
            status=RouteStatus.ROUTE_UNVERIFIED,
            grade=found.grade,
            answering_cluster=found.cluster_id or None,
            answering_node=found.node_id if found.node_id >= 0 else None,
            api_versions_max=found.api_versions_max,
        )
        if expected is not None and found.cluster_id != expected.cluster_id:
            text = f"cluster {found.cluster_id} answers, expected was {expected.cluster_id}"
            return replace(evidence, status=RouteStatus.WRONG_CLUSTER, text=text)
        if found.node_id < 0 and rejected and expected is not None:
            text = f"node {expected.node_id} is rejected here, and the answering node is unknown"
            return replace(evidence, status=RouteStatus.WRONG_NODE, text=text)
        if found.node_id < 0:
            text = "the broker cannot be identified (no ApiVersions 5, no right to describe configs)"
            return replace(evidence, text=text)
        if expected is None or found.node_id == expected.node_id:
            return replace(evidence, status=RouteStatus.ROUTE_OK)
        text = f"node {found.node_id} answers, expected was node {expected.node_id}"
        return replace(evidence, status=RouteStatus.WRONG_NODE, text=text)


def _status_of(failure: ClientFailure) -> RouteStatus:
    if isinstance(failure, AuthenticationRejected):
        return RouteStatus.AUTH
    if isinstance(failure, PeerBroke):
        return RouteStatus.TLS if "TLS" in failure.problem else RouteStatus.NOT_KAFKA
    if isinstance(failure, ConnectFailed):
        return _STAGE_STATUSES.get(failure.stage, RouteStatus.REJECTED)
    return RouteStatus.REJECTED


async def advertised_nodes(seed: Address, settings: ConnectionSettings) -> tuple[str | None, list[Node]]:
    """(cluster id, nodes) from the Metadata of the broker at one address."""
    connection = await connect(seed, settings)
    try:
        response = await connection.request(MetadataRequest(topics=[]))
    finally:
        connection.close("the probe is over")
    return response.cluster_id, [Node(row.node_id, Address(row.host, row.port), row.rack) for row in response.brokers]


async def probe_cluster(seed: Address, settings: ConnectionSettings) -> list[RouteEvidence]:
    """Probes every address that the cluster of `seed` advertises on that listener, each with its expected node."""
    cluster_id, nodes = await advertised_nodes(seed, settings)
    probe = RouteProbe(settings)
    evidence: list[RouteEvidence] = []
    for node in nodes:
        expected = Identity(cluster_id, node.node_id) if cluster_id is not None else None
        evidence += await probe.probe(node.address, expected)
    return evidence
