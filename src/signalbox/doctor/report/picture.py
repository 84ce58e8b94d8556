"""The picture of a listener: names → IP addresses → nodes; the wrong ones are marked.

Data for the terminal and for SVG.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from signalbox.common.ids import Grade
from signalbox.doctor.finding import Finding, Severity
from signalbox.doctor.observations import AddressObservation, ConnectionObservation, Fault, ListenerObservation

NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One path: from an address over an IP to the node that responds. `count` connections of `total` took it. `role`
    is the node that Metadata has there, or "bootstrap"."""

    address: str
    role: str
    ip: str
    node: str
    detail: str
    count: int
    total: int
    ms: float
    wrong: bool


def picture(listener: ListenerObservation, findings: list[Finding]) -> list[Arrow]:
    """The arrows of a listener, the bootstrap servers first. An address is wrong if an error names it."""
    wrong = {
        (finding.address, finding.node_id)
        for finding in findings
        if finding.listener == listener.bootstrap and finding.severity == Severity.ERROR and finding.address
    }
    rows = sorted(listener.addresses, key=lambda row: (row.node_id >= 0, row.node_id, row.address))
    return [arrow for row in rows for arrow in _arrows(row, (row.address, row.node_id) in wrong)]


def _arrows(row: AddressObservation, wrong: bool) -> list[Arrow]:
    role = f"node {row.node_id}" if row.node_id >= 0 else ""
    role = f"{role} (bootstrap)" if role and row.bootstrap else role or "bootstrap"
    if not row.connections:
        detail = row.resolve_text or ("no time" if not row.examined else "no address")
        return [
            Arrow(
                address=row.address,
                role=role,
                ip="?",
                node=NOTHING,
                detail=detail,
                count=0,
                total=0,
                ms=0.0,
                wrong=wrong,
            )
        ]
    arrows = []
    for ip in dict.fromkeys(connection.ip for connection in row.connections):
        connections = [connection for connection in row.connections if connection.ip == ip]
        targets = Counter(_target(row, connection) for connection in connections)
        for (node, detail), count in sorted(targets.items()):
            same = [connection for connection in connections if _target(row, connection) == (node, detail)]
            arrows.append(
                Arrow(
                    address=row.address,
                    role=role,
                    ip=ip,
                    node=node,
                    detail=detail,
                    count=count,
                    total=len(connections),
                    ms=min(connection.connect_ms or connection.total_ms for connection in same),
                    wrong=wrong,
                )
            )
    return arrows


def _target(row: AddressObservation, connection: ConnectionObservation) -> tuple[str, str]:
    if connection.fault != Fault.NONE:
        return NOTHING, f"{connection.fault} ({connection.stage})"
    node = f"node {connection.node_id}" if connection.node_id >= 0 else "unknown node"
    if connection.cluster_id and row.cluster_id and connection.cluster_id != row.cluster_id:
        node = f"{node} of cluster {connection.cluster_id}"
    if connection.node_id < 0 and connection.grade == Grade.REJECTED:
        return node, "rejects the expected identity"
    return node, f"proof {connection.grade}"
