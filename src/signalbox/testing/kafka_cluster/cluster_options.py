"""What a test wants of its cluster: the arguments of the marker `kafka_cluster`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from signalbox.testing.kafka_cluster.acl_texts import acls_of

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
CLIENT_LISTENER = "CLIENT"
OWN_LISTENERS = (CLIENT_LISTENER, "REPLICATION", "CONTROL", "KIT")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """`brokers`: how many, with the ids from 1 on. `security` and `mechanism` are those of clients; `users` maps names
    to passwords, the first one is that of `KafkaCluster.client_config`. `authorize` checks ACLs (with SASL only: users
    have no rights until an ACL gives them); `acls` does so, too, and gives users rights: {"alice": ["WRITE orders",
    "READ GROUP payments"]}, see `acl_texts.py`. `topics` maps names to numbers of partitions. `overrides` are keys of
    server.properties for all brokers. `processes`: each broker is a process. `listeners` are more listeners of clients
    than the first one, which has the name CLIENT: names and security protocols."""

    brokers: int = 3
    security: str = "PLAINTEXT"
    mechanism: str = "SCRAM-SHA-512"
    users: Mapping[str, str] = field(default_factory=lambda: {"alice": "alice-secret"})
    authorize: bool = False
    acls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    processes: bool = False
    listeners: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise ValueError(f"a cluster has at least one broker, not {self.brokers}")
        for protocol in self.protocols.values():
            if protocol not in SECURITY_PROTOCOLS:
                raise ValueError(f"security is one of {', '.join(SECURITY_PROTOCOLS)}, not {protocol!r}")
        taken = [name for name in self.listeners if name.upper() in OWN_LISTENERS]
        if taken:
            raise ValueError(f"the cluster has a listener {taken[0]} already: take another name")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"mechanism is one of {', '.join(MECHANISMS)}, not {self.mechanism!r}")
        if self.has_acls and not self.has_sasl:
            raise ValueError("authorize and acls need users: security SASL_PLAINTEXT or SASL_SSL")
        others = [name for name in self.acls if name not in self.users]
        if others:
            raise ValueError(f"acls are for users of the cluster, not for {', '.join(others)}")
        acls_of(self.acls)
        if self.has_sasl and not self.users:
            raise ValueError("SASL needs at least one user")
        for name, password in self.users.items():
            if not password.isprintable() or '"' in password or "\\" in password:
                raise ValueError(f"the password of {name} has a quote, a backslash or an unprintable character")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Options by name; ValueError names one that does not exist."""
        names = [each.name for each in fields(cls)]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise ValueError(f"a cluster has the options {', '.join(names)}, not {', '.join(unknown)}")
        return cls(**values)

    @property
    def protocols(self) -> dict[str, str]:
        """The security protocol of each listener of clients."""
        return {CLIENT_LISTENER: self.security, **self.listeners}

    @property
    def has_tls(self) -> bool:
        return any(protocol.endswith("SSL") for protocol in self.protocols.values())

    @property
    def has_sasl(self) -> bool:
        return any(protocol.startswith("SASL") for protocol in self.protocols.values())

    @property
    def has_acls(self) -> bool:
        """Whether users have the rights that ACLs give them, and no others."""
        return self.authorize or bool(self.acls)

    @property
    def key(self) -> str:
        """Equal for options that make equal clusters."""
        return repr([_sorted(getattr(self, each.name)) for each in fields(self)])


def _sorted(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, Mapping) else value
