"""Which node is at the other end of an open connection, on Kafka clusters of any vendor and version.

Two proofs, both on the connection itself, so that a load balancer cannot answer one half of the question from another
node:

* DescribeConfigs BROKER=<id>: only the broker itself returns its configs; an id that cannot exist must be rejected too.
  One request for all candidates. Needs the right to describe the configs of the cluster.
* ApiVersions 5 (KIP-1242): the true identity is accepted, an id that cannot exist is rejected with error 129. The
  second half matters: acceptance proves nothing where the fields are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from signalbox.client.connection.connection import ClientConnection
from signalbox.client.connection.node import Identity
from signalbox.client.connection.wire_frames import peek_error_code
from signalbox.client.failures import ClientFailure
from signalbox.common.ids import PROBE_NODE_ID, Grade
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest

_BROKER_RESOURCE = 4
_IDENTITY_VERSION = 5
_MAX_BROKERS = 1_000  # a server may name any number
_CONFIGS = ["node.id", "broker.id", "advertised.listeners"]


@dataclass(slots=True)
class Identified:
    """What is known of the node. `brokers` is its Metadata; `advertised` its own advertised.listeners, if readable.
    `rejects_all`: it was asked for each identity that its Metadata names, and rejected them all. Not if there were more
    than could be tried."""

    cluster_id: str = ""
    node_id: int = -1
    grade: Grade = Grade.NONE
    api_versions_max: int = -1
    advertised: str = ""
    rejects_all: bool = False
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict)


async def identify(
    connection: ClientConnection, expected: Identity | None, rejected: bool, max_candidates: int
) -> Identified:
    """Asks the node. `rejected`: it has rejected the expected identity on another connection already. The candidates
    are the expected node and the nodes in the Metadata that the node itself returns: DescribeConfigs asks for all of
    them at once, ApiVersions for `max_candidates` one by one."""
    metadata = await connection.request(MetadataRequest(topics=[], allow_auto_topic_creation=False))
    result = Identified(
        cluster_id=metadata.cluster_id or "",
        grade=Grade.CLUSTER_ONLY,
        api_versions_max=(connection.api_ranges.range_of(ApiKey.API_VERSIONS) or (0, 0))[1],
        brokers={row.node_id: (row.host, row.port) for row in metadata.brokers[:_MAX_BROKERS]},
    )
    candidates = _candidates(expected, result)
    compares = result.api_versions_max >= _IDENTITY_VERSION and result.cluster_id != "" and bool(candidates)
    if compares:
        error_code = await _error_for(connection, result.cluster_id, PROBE_NODE_ID)
        compares = error_code == Error.REBOOTSTRAP_REQUIRED
    if compares and connection.verified and expected is not None:
        result.node_id, result.grade = expected.node_id, Grade.VERIFIED
    elif rejected:
        result.grade = Grade.REJECTED
    try:
        by_configs, result.advertised = await _find_by_configs(connection, candidates)
    except ClientFailure:  # a server without this API, or one that closes the connection
        by_configs = None
    if result.node_id >= 0 or (compares and not connection.is_open):
        return result
    if not compares:
        if by_configs is not None:
            result.node_id, result.grade = by_configs, Grade.CONFIGS
        return result
    ordered = dict.fromkeys(([by_configs] if by_configs is not None else []) + candidates)
    for node_id in islice(ordered, max_candidates):
        if await _error_for(connection, result.cluster_id, node_id) == Error.NONE:
            result.node_id, result.grade = node_id, Grade.SEARCHED
            return result
    if len(ordered) <= max_candidates and len(metadata.brokers) <= _MAX_BROKERS:
        result.grade, result.rejects_all = Grade.REJECTED, True
    return result


async def confirms(connection: ClientConnection, node_id: int) -> bool:
    """Whether the node returns the configs of `node_id` as its own: the proof on brokers without ApiVersions 5."""
    return (await _find_by_configs(connection, [node_id]))[0] == node_id


def _candidates(expected: Identity | None, result: Identified) -> list[int]:
    ids: Iterable[int] = result.brokers
    if expected is not None and expected.cluster_id == result.cluster_id:
        ids = (expected.node_id, *ids)
    return [node_id for node_id in dict.fromkeys(ids) if node_id >= 0]


async def _error_for(connection: ClientConnection, cluster_id: str, node_id: int) -> int:
    """The error code of ApiVersions with this identity; the layout of the rest depends on it, and is not decoded."""
    request = ApiVersionsRequest(
        client_software_name="signalbox", client_software_version="0.1.0", cluster_id=cluster_id, node_id=node_id
    )
    return peek_error_code(await connection.send(request, _IDENTITY_VERSION))


async def _find_by_configs(connection: ClientConnection, candidates: list[int]) -> tuple[int | None, str]:
    """(the one candidate that the node is, its advertised.listeners); (None, "") if this proves nothing."""
    if ApiKey.DESCRIBE_CONFIGS not in connection.api_ranges:
        return None, ""
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=_BROKER_RESOURCE, resource_name=str(node_id), configuration_keys=_CONFIGS
        )
        for node_id in (*candidates, PROBE_NODE_ID)
    ]
    response = await connection.request(DescribeConfigsRequest(resources=resources))
    own = [row for row in response.results if row.error_code == Error.NONE]
    if len(own) != 1 or own[0].resource_name == str(PROBE_NODE_ID):
        return None, ""
    values = {row.name: row.value for row in own[0].configs if row.value}
    named = next((node_id for node_id in candidates if str(node_id) == own[0].resource_name), None)
    return named, str(values.get("advertised.listeners") or "")
