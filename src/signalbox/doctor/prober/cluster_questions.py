"""What brokers say about each other: Metadata, DescribeCluster, FindCoordinator, and the node endpoints in Fetch.

All read-only. Coordinators: `coordinators.py`. The node endpoints are provoked: a Fetch of a partition from a node that
has no replica of it, or with an old leader epoch, is answered with an error and the leader's address (KIP-951); no
record is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Address
from signalbox.doctor.observations import ClusterView, EndpointObservation, LeftOut
from signalbox.doctor.prober.coordinators import CoordinatorKeys, read_coordinators
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.clean_text import clean_name

_ENDPOINTS_FROM = 16
_MAX_LISTED = 20
_MAX_ENDPOINTS, _MAX_ALL_ENDPOINTS = 1_100, 10_000


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition that Metadata has, for provoked answers."""

    topic: str
    topic_id: bytes
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The Metadata of a bootstrap server: raw addresses, for connecting, and the partitions."""

    cluster_id: str
    brokers: dict[int, tuple[str, int]]
    partitions: tuple[Partition, ...]
    internal_topics: frozenset[str]
    view: ClusterView


async def read_cluster(connection: ClientConnection, max_brokers: int) -> Cluster:
    """The whole Metadata. Only the first `max_brokers` nodes are kept."""
    response = await connection.request(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    rows = response.brokers[:max_brokers]
    brokers = {row.node_id: (row.host, row.port) for row in rows if row.node_id >= 0}
    partitions, replica_nodes, without = [], set(), []
    for topic in response.topics:
        for row in topic.partitions:
            replica_nodes.update(row.replica_nodes)
            if row.error_code == Error.LISTENER_NOT_FOUND:
                without.append(f"{topic.name}-{row.partition_index}")
            if row.leader_id >= 0:
                partitions.append(
                    Partition(
                        topic.name,
                        topic.topic_id,
                        row.partition_index,
                        row.leader_id,
                        row.leader_epoch,
                        tuple(row.replica_nodes),
                    )
                )
    view = ClusterView(
        cluster_id=clean_name(response.cluster_id or ""),
        brokers={str(node_id): _text(host, port) for node_id, (host, port) in sorted(brokers.items())},
        replica_nodes=tuple(sorted(replica_nodes)[:max_brokers]),
        without_listener=tuple(clean_name(name, 260) for name in without[:_MAX_LISTED]),
        advertised_count=len(response.brokers),
    )
    internal = frozenset(row.name for row in response.topics if row.error_code == Error.NONE and row.name)
    return Cluster(response.cluster_id or "", brokers, tuple(partitions), internal, view)


async def read_endpoints(
    connection: ClientConnection, node_id: int, cluster: Cluster, keys: CoordinatorKeys | None = None
) -> tuple[list[EndpointObservation], list[LeftOut]]:
    """(every address that this node returns in other responses than Metadata, checks that could not be made)."""
    rows: list[tuple[str, Any]] = []
    skipped: list[LeftOut] = []
    if ApiKey.DESCRIBE_CLUSTER in connection.api_ranges:
        response = await connection.request(DescribeClusterRequest())
        rows += [("DescribeCluster", Endpoint(row.broker_id, row.host, row.port)) for row in response.brokers]
    else:
        skipped.append(LeftOut("DescribeCluster: the brokers do not have it", unknown=False))
    coordinators, unasked = await read_coordinators(
        connection, node_id, cluster.internal_topics, keys or CoordinatorKeys()
    )
    skipped += unasked
    provoked = await _provoked(connection, node_id, cluster)
    if provoked is None:
        skipped.append(LeftOut("Fetch: no error with node endpoints can be provoked", unknown=False))
    else:
        rows += [("Fetch", row) for row in provoked]
    if len(rows) > _MAX_ENDPOINTS:
        reason = f"node {node_id}: {_MAX_ENDPOINTS} of {len(rows)} addresses in its responses were compared"
        skipped.append(LeftOut(reason))
    found = [
        EndpointObservation(source=source, asked=node_id, node_id=row.node_id, address=_text(row.host, row.port))
        for source, row in rows[:_MAX_ENDPOINTS]
    ]
    return coordinators + found, skipped


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A node and its address in a response."""

    node_id: int
    host: str
    port: int


async def _provoked(connection: ClientConnection, node_id: int, cluster: Cluster) -> list[Endpoint] | None:
    """The node endpoints of an error that was caused on purpose; None if there is no partition for it."""
    versions = connection.api_ranges.range_of(ApiKey.FETCH)
    if versions is None or versions[1] < _ENDPOINTS_FROM:
        return None
    partition = next((row for row in cluster.partitions if node_id not in row.replicas), None)
    epoch = -1
    if partition is None:
        partition = next((row for row in cluster.partitions if row.leader_epoch > 0 and row.leader != node_id), None)
        epoch = partition.leader_epoch - 1 if partition is not None else -1
    if partition is None:
        return None
    asked = FetchRequest.FetchPartition(
        partition=partition.index, current_leader_epoch=epoch, fetch_offset=0, partition_max_bytes=1
    )
    topic = FetchRequest.FetchTopic(topic=partition.topic, topic_id=partition.topic_id, partitions=[asked])
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, session_epoch=-1, topics=[topic])
    response = await connection.request(request)
    return [Endpoint(row.node_id, row.host, row.port) for row in response.node_endpoints or []]


def with_endpoints(view: ClusterView, endpoints: list[EndpointObservation], skipped: list[LeftOut]) -> ClusterView:
    """The view with what the nodes returned. An endpoint that several nodes return is kept once, with the node that was
    asked first; each reason is kept once."""
    once: dict[EndpointObservation, EndpointObservation] = {}
    for row in endpoints:
        once.setdefault(replace(row, asked=-1), row)
    if len(once) > _MAX_ALL_ENDPOINTS:
        reason = f"{_MAX_ALL_ENDPOINTS} of {len(once)} addresses in other responses were compared"
        skipped = [*skipped, LeftOut(reason)]
    rows = tuple(once.values())[:_MAX_ALL_ENDPOINTS]
    return replace(view, endpoints=rows).with_left_out(skipped)


def _text(host: str, port: int) -> str:
    return str(Address(clean_name(host, 255), port))
