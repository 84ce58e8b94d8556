"""The result of a probe of one address, as text and as stable codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from signalbox.client.connection.node import Address, Identity


class RouteStatus(StrEnum):
    """One per route. Only ROUTE_OK is good; ROUTE_UNVERIFIED is never shown as good."""

    ROUTE_OK = "ROUTE_OK"
    ROUTE_UNVERIFIED = "ROUTE_UNVERIFIED"
    WRONG_NODE = "WRONG_NODE"
    WRONG_CLUSTER = "WRONG_CLUSTER"
    UNRESOLVED = "UNRESOLVED"
    REJECTED = "REJECTED"
    TLS = "TLS"
    AUTH = "AUTH"
    NOT_KAFKA = "NOT_KAFKA"


class Grade(StrEnum):
    """How the node that responds was identified."""

    VERIFIED = "A"  # ApiVersions 5 accepted the true pair and rejected a false one
    SEARCHED = "B"  # ApiVersions 5 rejected the expected node and accepted another
    CONFIGS = "C"  # DescribeConfigs of that broker succeeded, of another one was rejected
    REJECTED = "R"  # ApiVersions 5 rejected the expected node; which node responds is unknown
    CLUSTER_ONLY = "E"  # Metadata has the cluster id, nothing identifies the node
    NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEvidence:
    """One address (and one of its IPs). `answering_*` is the node that responds, as far as it is known."""

    address: Address
    ip: str
    expected: Identity | None
    status: RouteStatus
    grade: Grade = Grade.NONE
    answering_cluster: str | None = None
    answering_node: int | None = None
    api_versions_max: int | None = None
    text: str = ""
    duration_ms: float = 0.0
