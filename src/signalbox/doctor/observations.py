"""What the doctor has observed, as data: no opinion, no socket.

    Examination                      one run
      ListenerObservation            one bootstrap entry with its security settings
        AddressObservation           one address: a bootstrap server, or one that Metadata has
          ConnectionObservation      one connection to one IP of it
        ClusterView                  what the brokers of this listener say about each other

All of it becomes JSON and is read back (`observation_json.py`), so each field is a number, a text, a list or a mapping
with text keys. Texts of the network have passed `clean_text`: they have no control characters and no secrets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from signalbox.common.endpoint import host_port
from signalbox.common.ids import Grade


class Fault(StrEnum):
    """Where a connection ended before the node was asked. NONE: it was usable."""

    NONE = ""
    CONNECTION_REFUSED = "connection-refused"
    NO_ROUTE = "no-route"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    TLS_EXPECTED = "tls-expected"  # the port uses TLS, the client does not
    TLS_MISSING = "tls-missing"  # the client uses TLS, the port does not
    TLS_HANDSHAKE = "tls-handshake"
    CERTIFICATE_UNTRUSTED = "certificate-untrusted"
    CERTIFICATE_EXPIRED = "certificate-expired"  # or not valid yet
    CERTIFICATE_NAME = "certificate-name"
    CLIENT_CERTIFICATE = "client-certificate"  # the port wants a certificate of the client, or another one
    SASL_EXPECTED = "sasl-expected"
    SASL_MISSING = "sasl-missing"
    SASL_MECHANISM = "sasl-mechanism"
    AUTHENTICATION = "authentication"
    TOKEN = "token"  # the client has no access token
    ALWAYS_REJECTED = "always-rejected"  # 129 although no identity was sent
    HTTP = "http"
    NOT_KAFKA = "not-kafka"
    VERSIONS = "versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The certificate that a port presents. `names` are its DNS names and IP addresses; times are ISO 8601, UTC."""

    subject: str = ""
    issuer: str = ""
    names: tuple[str, ...] = ()
    not_before: str = ""
    not_after: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionObservation:
    """One connection. `node_id` is -1 if the node is unknown; `api_versions_max` is -1 if there was no response.
    `advertised` is the node's own `advertised.listeners`, if it may be read. `sasl_mechanisms`: those that the port
    offers, if it was asked."""

    ip: str
    stage: str
    fault: Fault = Fault.NONE
    text: str = ""
    cluster_id: str = ""
    node_id: int = -1
    grade: Grade = Grade.NONE
    api_versions_max: int = -1
    advertised: str = ""
    sasl_mechanisms: tuple[str, ...] = ()
    connect_ms: float = 0.0
    total_ms: float = 0.0

    @property
    def usable(self) -> bool:
        return self.fault == Fault.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressObservation:
    """One address. `node_id` is the node that Metadata has at this address, -1 for a bootstrap server that Metadata
    does not have. `brokers`: addresses by node id, those in the Metadata of the node that responded
    first that the bootstrap server does not have."""

    host: str
    port: int
    bootstrap: bool = False
    node_id: int = -1
    cluster_id: str = ""
    ips: tuple[str, ...] = ()
    resolve_text: str = ""
    examined: bool = True
    connections: tuple[ConnectionObservation, ...] = ()
    certificates: dict[str, Certificate] = field(default_factory=dict)
    brokers: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return host_port(self.host, self.port)

    @property
    def usable(self) -> tuple[ConnectionObservation, ...]:
        """The connections on which the node was asked."""
        return tuple(row for row in self.connections if row.usable)

    @property
    def answering(self) -> tuple[int, ...]:
        """The nodes that responded, each once, in the order of the connections."""
        return tuple(dict.fromkeys(row.node_id for row in self.connections if row.node_id >= 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointObservation:
    """A response other than Metadata that has an address. `source` is the API, `asked` the first node that
    was asked and had it. `key`: the group or transactional id that was asked about by name, `error` the error in place
    of its coordinator. `absent`: Metadata lacks the node, also when both were asked again."""

    source: str
    asked: int
    node_id: int
    address: str
    key: str = ""
    error: str = ""
    absent: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A check that was not made, or not for everything. `unknown`: without it the doctor cannot tell whether all is
    right. Not so where the peer has nothing to compare, as an older Kafka without the request."""

    reason: str
    unknown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as one listener shows it. `brokers`: addresses by node id. `without_listener`: partitions whose
    leader has no such listener (error 72), `topic-partition`. `endpoints`: every other response with an address.
    `skipped`: checks that could not be made, with the reason; `unknown`: those of them without which the doctor cannot
    tell whether all is right."""

    cluster_id: str = ""
    brokers: dict[str, str] = field(default_factory=dict)
    replica_nodes: tuple[int, ...] = ()
    without_listener: tuple[str, ...] = ()
    endpoints: tuple[EndpointObservation, ...] = ()
    skipped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    advertised_count: int = 0

    def with_left_out(self, rows: Iterable[LeftOut]) -> ClusterView:
        """The view with these reasons after those that it has, each once."""
        rows = tuple(rows)
        skipped = dict.fromkeys((*self.skipped, *(row.reason for row in rows)))
        unknown = dict.fromkeys((*self.unknown, *(row.reason for row in rows if row.unknown)))
        return replace(self, skipped=tuple(skipped), unknown=tuple(unknown))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How the client's properties let it deal with wrong routes: metadata.recovery.strategy,
    metadata.cluster.check.enable, and the cluster of signalbox.cluster.id.policy=pin:<cluster id>."""

    recovery_strategy: str = "rebootstrap"
    cluster_check: bool = True
    pinned_cluster_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerObservation:
    """One bootstrap entry. `protocol` is the client's security.protocol, `mechanism` its sasl.mechanism or ""."""

    bootstrap: str
    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    client: ClientOptions = field(default_factory=ClientOptions)
    view: ClusterView = field(default_factory=ClusterView)
    addresses: tuple[AddressObservation, ...] = ()

    @property
    def seeds(self) -> tuple[AddressObservation, ...]:
        return tuple(row for row in self.addresses if row.bootstrap)

    @property
    def advertised(self) -> tuple[AddressObservation, ...]:
        return tuple(row for row in self.addresses if row.node_id >= 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One run. `started` is ISO 8601, UTC."""

    started: str
    duration_ms: float = 0.0
    listeners: tuple[ListenerObservation, ...] = ()
