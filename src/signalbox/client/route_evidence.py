"""What a probe of one address found out, in words and in stable codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from signalbox.client.node import Address, Identity


class Verdict(StrEnum):
    """One per route. Only ROUTE_OK is good; ROUTE_UNVERIFIED is never shown as good."""

    ROUTE_OK = "ROUTE_OK"
    ROUTE_UNVERIFIED = "ROUTE_UNVERIFIED"
    WRONG_NODE = "WRONG_NODE"
    WRONG_CLUSTER = "WRONG_CLUSTER"
    UNRESOLVED = "UNRESOLVED"
    REFUSED = "REFUSED"
    TLS = "TLS"
    AUTH = "AUTH"
    NOT_KAFKA = "NOT_KAFKA"


class Grade(StrEnum):
    """How it is known who answered."""

    VERIFIED = "A"  # ApiVersions 5 took the true pair and refused a false one
    SWEPT = "B"  # ApiVersions 5 refused the expected node and took another
    CONFIGS = "C"  # DescribeConfigs of that very broker was answered, of another one refused
    CLUSTER_ONLY = "E"  # Metadata named the cluster, nothing named the node
    NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEvidence:
    """One address (and one of its IPs). `answering_*` is who is there, as far as it is known."""

    address: Address
    ip: str
    expected: Identity | None
    verdict: Verdict
    grade: Grade = Grade.NONE
    answering_cluster: str | None = None
    answering_node: int | None = None
    api_versions_max: int | None = None
    text: str = ""
    duration_ms: float = 0.0
