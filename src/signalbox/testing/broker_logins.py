"""How the brokers of a cluster on this host authenticate to each other: SCRAM-SHA-512 over SASL_PLAINTEXT, on the
listeners that clients do not use. The traffic stays on loopback, so it is not encrypted.

All brokers share one user. Its password is generated once for the folder of the cluster and is stored in a JAAS file of
mode 0600, which also holds the login module's own user: that user is valid before the metadata store has any user.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

_MECHANISM = "SCRAM-SHA-512"
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_USER = "up_broker"
_LISTENERS = ("REPLICATION", "CONTROL", "CONTROLLER")
_PROTOCOL_MAP = "listener.security.protocol.map"
_OWN_SECURITY = frozenset(
    {
        "listeners",
        _PROTOCOL_MAP,
        "inter.broker.listener.name",
        "security.inter.broker.protocol",
        "control.plane.listener.name",
        "controller.listener.names",
        "java.security.auth.login.config",
    }
)


def names_own_security(overrides: Iterable[str]) -> list[str]:
    """The keys in `overrides` by which a user configures the security between brokers himself."""
    of_peers = tuple(f"listener.name.{name.lower()}." for name in _LISTENERS)
    return [key for key in overrides if key in _OWN_SECURITY or key.startswith(("sasl.", "signalbox.sasl.", *of_peers))]


def speaks_securely(properties: Mapping[str, str]) -> bool:
    """True if a server.properties has the keys that `BrokerLogins.properties` adds."""
    return f"{_LISTENERS[0]}:SASL_" in properties.get(_PROTOCOL_MAP, "").upper()


class BrokerLogins:
    """The logins of the cluster in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "brokers.jaas"

    def properties(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The server.properties of a node with the brokers' listeners secured."""
        protocols = properties[_PROTOCOL_MAP]
        for name in _LISTENERS:
            protocols = protocols.replace(f"{name}:PLAINTEXT", f"{name}:SASL_PLAINTEXT")
        mechanisms = {
            f"listener.name.{name.lower()}.sasl.enabled.mechanisms": _MECHANISM
            for name in _LISTENERS
            if f"{name}:" in protocols
        }
        return {
            **properties,
            _PROTOCOL_MAP: protocols,
            **mechanisms,
            "sasl.mechanism.inter.broker.protocol": _MECHANISM,
            **({"sasl.mechanism.controller.protocol": _MECHANISM} if "CONTROLLER:" in protocols else {}),
            "signalbox.sasl.jaas.file": str(self.file),
        }

    def write(self) -> None:
        """Generates the password if the folder has none. OSError."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists():
            self.file.chmod(0o600)
            return
        password = secrets.token_urlsafe(24)
        options = f'username="{_USER}" password="{password}" user_{_USER}="{password}"'
        sections = [f"{name.lower()}.KafkaServer {{\n  {_MODULE} required\n  {options};\n}};\n" for name in _LISTENERS]
        scratch = self.file.with_name(f".{self.file.name}.new")
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.writelines(sections)
        scratch.replace(self.file)
