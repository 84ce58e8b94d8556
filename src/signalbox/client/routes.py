"""The route probe: which node responds at an address, on Kafka clusters of any vendor and version (SPEC R8).

Steps: resolve, TCP, TLS, SASL, then identity by the best available evidence. A broker with ApiVersions 5 must accept
the true pair *and* reject a false one: acceptance proves nothing where the fields are ignored. On older versions only
the broker itself returns the configs of DescribeConfigs BROKER=<id>, and an id that cannot exist must be rejected too.
Read-only; connections are opened one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity, Node
from signalbox.client.connection.stream_opener import resolve
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed, Misrouted, PeerBroke
from signalbox.client.route_probe.route_evidence import Grade, RouteEvidence, RouteStatus
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest

_BROKER_RESOURCE = 4
_IMPOSSIBLE_NODE_ID = 0x7FFF_FFFE
_STAGE_STATUSES = {"resolve": RouteStatus.UNRESOLVED, "tcp": RouteStatus.REJECTED, "tls": RouteStatus.TLS}


class RouteProbe:
    """Probes addresses with one set of connection settings. `candidates`: node ids that a wrong route may lead to."""

    def __init__(self, settings: ConnectionSettings, candidates: Collection[int] = ()) -> None:
        self._settings = replace(settings, identity_enabled=True)
        self._candidates = tuple(candidates)

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
        response = await connection.request(MetadataRequest(topics=[]))
        cluster_id: str | None = response.cluster_id
        evidence = RouteEvidence(
            address=connection.address,
            ip=ip,
            expected=expected,
            status=RouteStatus.ROUTE_UNVERIFIED,
            grade=Grade.CLUSTER_ONLY,
            answering_cluster=cluster_id,
            api_versions_max=(connection.api_ranges.range_of(ApiKey.API_VERSIONS) or (0, 0))[1],
        )
        if expected is not None and cluster_id != expected.cluster_id:
            text = f"cluster {cluster_id} answers, expected was {expected.cluster_id}"
            return replace(evidence, status=RouteStatus.WRONG_CLUSTER, text=text)
        if expected is not None and connection.verified and await self._rejects_others(connection, ip):
            return replace(evidence, status=RouteStatus.ROUTE_OK, grade=Grade.VERIFIED, answering_node=expected.node_id)
        candidates = () if expected is None else (expected.node_id,)
        node_id, grade = await self._find_node(connection, ip, cluster_id, candidates, rejected)
        if node_id is None and rejected and expected is not None:
            text = f"node {expected.node_id} is rejected here, and the answering node is unknown"
            return replace(evidence, status=RouteStatus.WRONG_NODE, grade=Grade.SEARCHED, text=text)
        if node_id is None or grade is None:
            return replace(
                evidence, text="the broker cannot be identified (no ApiVersions 5, no right to describe configs)"
            )
        is_expected = expected is None or node_id == expected.node_id
        text = (
            "" if is_expected else f"node {node_id} answers, expected was node {expected.node_id if expected else '-'}"
        )
        status = RouteStatus.ROUTE_OK if is_expected else RouteStatus.WRONG_NODE
        return replace(evidence, status=status, grade=grade, answering_node=node_id, text=text)

    async def _rejects_others(self, connection: ClientConnection, ip: str) -> bool:
        """Whether this broker rejects an identity that no node has. If not, its acceptance proves nothing."""
        assert connection.identity is not None
        return not await self._takes(connection.address, ip, connection.identity._replace(node_id=_IMPOSSIBLE_NODE_ID))

    async def _takes(self, address: Address, ip: str, identity: Identity) -> bool:
        try:
            other = await connect(address, self._settings, identity, resolved=[ip])
        except Misrouted:
            return False
        other.close("the probe is over")
        return True

    async def _find_node(
        self, connection: ClientConnection, ip: str, cluster_id: str | None, candidates: tuple[int, ...], rejected: bool
    ) -> tuple[int | None, Grade | None]:
        """The node that responds: found by identity where the broker compares it, else by its configs."""
        ids = dict.fromkeys((*candidates, *self._candidates))
        if rejected and cluster_id is not None:
            for node_id in ids:
                if node_id not in candidates and await self._takes(
                    connection.address, ip, Identity(cluster_id, node_id)
                ):
                    return node_id, Grade.SEARCHED
            return None, None
        if ApiKey.DESCRIBE_CONFIGS not in connection.api_ranges or await _is_broker(connection, _IMPOSSIBLE_NODE_ID):
            return None, None
        for node_id in ids:
            if await _is_broker(connection, node_id):
                return node_id, Grade.CONFIGS
        return None, None


async def _is_broker(connection: ClientConnection, node_id: int) -> bool:
    """Whether the broker at the other end returns this broker's own configs. Only node `node_id` does."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_BROKER_RESOURCE, resource_name=str(node_id), configuration_keys=["broker.id"]
    )
    response = await connection.request(DescribeConfigsRequest(resources=[resource]))
    return all(row.error_code == Error.NONE for row in response.results)


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
    probe = RouteProbe(settings, [node.node_id for node in nodes])
    evidence: list[RouteEvidence] = []
    for node in nodes:
        expected = Identity(cluster_id, node.node_id) if cluster_id is not None else None
        evidence += await probe.probe(node.address, expected)
    return evidence
