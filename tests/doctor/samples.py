"""Observations for tests of checks and reports, in few words."""

from __future__ import annotations

from typing import Any

from signalbox.common.ids import Grade
from signalbox.doctor.finding import Finding
from signalbox.doctor.observations import (
    AddressObservation,
    ClusterView,
    ConnectionObservation,
    Examination,
    Fault,
    ListenerObservation,
)

CLUSTER = "cluster-A"
STARTED = "2026-06-01T12:00:00+00:00"


def connection(node_id: int = -1, **fields: Any) -> ConnectionObservation:
    """A usable connection to `node_id`."""
    given = {
        "ip": "10.0.0.9",
        "stage": "ready",
        "cluster_id": CLUSTER,
        "node_id": node_id,
        "grade": Grade.VERIFIED if node_id >= 0 else Grade.CLUSTER_ONLY,
        "api_versions_max": 5,
        "connect_ms": 1.0,
    }
    return ConnectionObservation(**{**given, **fields})


def failed(fault: Fault, **fields: Any) -> ConnectionObservation:
    """A connection that ended with `fault`."""
    return ConnectionObservation(**{"ip": "10.0.0.9", "stage": "tcp", "fault": fault, "text": "a reason", **fields})


def advertised(node_id: int, *nodes: int, **fields: Any) -> AddressObservation:
    """`broker<node_id>:9092`, where these nodes responded, in this order."""
    ip = fields.pop("ip", f"10.0.0.{node_id}")
    given = {
        "host": f"broker{node_id}",
        "port": 9092,
        "node_id": node_id,
        "cluster_id": CLUSTER,
        "ips": (ip,),
        "connections": tuple(connection(node, ip=ip) for node in nodes),
    }
    return AddressObservation(**{**given, **fields})


def seed(*nodes: int, **fields: Any) -> AddressObservation:
    """`kafka:9092`, a bootstrap server that no node advertises."""
    ip = fields.pop("ip", "10.0.0.9")
    given = {
        "host": "kafka",
        "port": 9092,
        "bootstrap": True,
        "ips": (ip,),
        "connections": tuple(connection(node, ip=ip) for node in nodes),
    }
    return AddressObservation(**{**given, **fields})


def listener(*addresses: AddressObservation, bootstrap: str = "kafka:9092", **fields: Any) -> ListenerObservation:
    """A listener whose Metadata has the advertised addresses; other fields are ListenerObservation's."""
    brokers = {str(row.node_id): row.address for row in addresses if row.node_id >= 0}
    view = fields.pop("view", None) or ClusterView(cluster_id=CLUSTER, brokers=brokers, advertised_count=len(brokers))
    return ListenerObservation(bootstrap=bootstrap, addresses=addresses, view=view, **fields)


def examination(*listeners: ListenerObservation) -> Examination:
    return Examination(started=STARTED, duration_ms=12.0, listeners=listeners)


def codes_of(findings: list[Finding] | Any) -> list[tuple[str, int]]:
    """(code, node id) of each finding."""
    return [(finding.code, finding.node_id) for finding in findings]
