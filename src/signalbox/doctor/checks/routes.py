"""Which node responds at the address of a node, and whether it is that node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from signalbox.common.ids import Grade
from signalbox.doctor.checks.about import about, address_of_node, ids
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import AddressObservation, ConnectionObservation, ListenerObservation

_IDENTITY_FROM = 5
_UNKNOWN = -1  # a node that rejects the expected identity, and is not asked further


def check_nodes(listener: ListenerObservation) -> Iterator[Finding]:
    """Every advertised address; nodes that are exchanged are recognised together."""
    wrong: dict[int, int] = {}
    for row in listener.advertised:
        yield from _foreign(listener, row)
        rows = _of_cluster(row)
        nodes = [_responding(row, one) for one in rows if one.node_id >= 0 or one.grade == Grade.REJECTED]
        distinct = tuple(dict.fromkeys(nodes))
        if len(distinct) > 1:
            yield _several(listener, row, nodes)
        elif (
            distinct and distinct[0] not in (_UNKNOWN, row.node_id) and not _shares_address(listener, row, distinct[0])
        ):
            wrong[row.node_id] = distinct[0]
        elif rows and distinct in ((), (_UNKNOWN,)):
            yield _unknown(listener, row, rows)
    by_id = {row.node_id: row for row in listener.advertised}
    crossed = _crossed(wrong)
    for node_id, actual in wrong.items():
        yield _wrong(listener, by_id[node_id], actual, wrong, crossed)


def check_bootstrap(listener: ListenerObservation) -> Iterator[Finding]:
    """Bootstrap servers that no node advertises: any node of the cluster may respond."""
    for row in listener.seeds:
        if row.node_id >= 0:
            continue
        clusters = {connection.cluster_id for connection in row.usable}
        if len(row.answering) > 1 and len(clusters) == 1:
            yield about("LOAD_BALANCER", listener, row, f"nodes {ids(row.answering)} respond at {row.address}")
        elif not row.answering and any(_rejects_all(connection) for connection in row.usable):
            text = f"the node at {row.address} rejects every identity that its Metadata names"
            yield about("IDENTITY_REWRITTEN", listener, row, text)


def check_identity_versions(listener: ListenerObservation) -> Iterator[Finding]:
    """Addresses where clients would not notice a misrouted connection although the broker could."""
    for row in listener.advertised:
        ignored = [
            connection
            for connection in row.usable
            if connection.api_versions_max >= _IDENTITY_FROM
            and connection.grade in (Grade.CONFIGS, Grade.CLUSTER_ONLY)
            and connection.cluster_id
        ]
        if ignored:
            yield about("IDENTITY_IGNORED", listener, row, f"the node at {row.address} accepts any identity")
    versions = {row.address: row.usable[0].api_versions_max for row in listener.addresses if row.usable}
    capped = [address for address, version in versions.items() if 0 <= version < _IDENTITY_FROM]
    if capped and any(version >= _IDENTITY_FROM for version in versions.values()):
        row = next(row for row in listener.addresses if row.address == capped[0])
        text = f"{', '.join(capped)}: ApiVersions up to {versions[capped[0]]} only, other addresses have 5"
        yield about("VERSIONS_CAPPED", listener, row, text)


def _foreign(listener: ListenerObservation, row: AddressObservation) -> Iterator[Finding]:
    foreign = [
        connection
        for connection in row.usable
        if row.cluster_id and connection.cluster_id and connection.cluster_id != row.cluster_id
    ]
    if foreign:
        node = f"node {foreign[0].node_id}" if foreign[0].node_id >= 0 else "a node"
        text = f"{node} of cluster {foreign[0].cluster_id} responds for node {row.node_id} of cluster {row.cluster_id}"
        yield about("WRONG_CLUSTER", listener, row, text)


def _of_cluster(row: AddressObservation) -> list[ConnectionObservation]:
    return [
        connection
        for connection in row.usable
        if not (row.cluster_id and connection.cluster_id) or connection.cluster_id == row.cluster_id
    ]


def _responding(row: AddressObservation, connection: ConnectionObservation) -> int:
    """The node that responds. The expected node, found by a search, accepted the second connection only: the first one
    led to a node that rejected this identity."""
    is_second = connection.grade == Grade.SEARCHED and connection.node_id == row.node_id
    return _UNKNOWN if is_second else connection.node_id


def _several(listener: ListenerObservation, row: AddressObservation, nodes: list[int]) -> Finding:
    """BALANCED, or ROUTE_CHANGED if one node responded first and another one from some moment on."""
    changes = sum(1 for one, other in pairwise(nodes) if one != other)
    value = address_of_node(listener, row.node_id)
    if changes == 1 and len(row.ips) == 1 and len(nodes) > 2:
        text = f"{_named(nodes[0])} responded at first, then {_named(nodes[-1])}; Metadata has node {row.node_id} there"
        return about("ROUTE_CHANGED", listener, row, text, value)
    counts = Counter(nodes)
    text = ", ".join(f"{_named(node_id)} {count} times" for node_id, count in sorted(counts.items()))
    return about("BALANCED", listener, row, f"of {len(nodes)} connections for node {row.node_id}: {text}", value)


def _named(node_id: int) -> str:
    return "another node" if node_id == _UNKNOWN else f"node {node_id}"


def _unknown(listener: ListenerObservation, row: AddressObservation, rows: list[ConnectionObservation]) -> Finding:
    if any(_rejects_all(connection) for connection in rows):
        text = f"the node at {row.address} rejects node {row.node_id} and every other identity in its Metadata"
        return about("IDENTITY_REWRITTEN", listener, row, text)
    if any(connection.grade == Grade.REJECTED for connection in rows):
        text = f"the node at {row.address} is not node {row.node_id} of cluster {row.cluster_id}: {rows[0].text}"
        return about("WRONG_NODE", listener, row, text, address_of_node(listener, row.node_id))
    return about("UNVERIFIED", listener, row, f"nothing proves that node {row.node_id} responds at {row.address}")


def _rejects_all(connection: ConnectionObservation) -> bool:
    """Whether the node was asked for every identity that its own Metadata has. Without authentication it was not."""
    return connection.grade == Grade.REJECTED and connection.stage == "ready" and connection.node_id < 0


def _wrong(
    listener: ListenerObservation,
    row: AddressObservation,
    actual: int,
    wrong: Mapping[int, int],
    crossed: Mapping[int, tuple[int, ...]],
) -> Finding:
    value = address_of_node(listener, row.node_id)
    if row.node_id in crossed:
        cycle = crossed[row.node_id]
        how = f"nodes {ids(cycle)} are exchanged"
        return about("CROSSED", listener, row, f"node {actual} responds for node {row.node_id}: {how}", value)
    same = [node_id for node_id, node in wrong.items() if node == actual]
    if len(same) > 1:
        text = f"node {actual} responds at the addresses of nodes {ids(same)}"
        return about("ALL_LEAD_TO_ONE", listener, row, text, value)
    return about("WRONG_NODE", listener, row, f"node {actual} responds for node {row.node_id}", value)


def _crossed(wrong: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    """The cycles in `wrong`: each node id with the nodes of its cycle."""
    cycles: dict[int, tuple[int, ...]] = {}
    for start in wrong:
        path, node_id = [start], wrong[start]
        while node_id in wrong and node_id not in path:
            path.append(node_id)
            node_id = wrong[node_id]
        if node_id == start:
            cycles[start] = tuple(sorted(path))
    return cycles


def _shares_address(listener: ListenerObservation, row: AddressObservation, node_id: int) -> bool:
    """Whether the node that responds advertises this very address too: DUPLICATE_ADDRESS says so."""
    return listener.view.brokers.get(str(node_id), "").lower() == row.address.lower()
