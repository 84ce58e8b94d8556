"""Brokers in one process with a listener of each security protocol, each advertised address a line of a switchboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from signalbox.testing.cluster import Cluster
from signalbox.testing.free_ports import free_ports
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.security.certificates import Authority

AUTHORITY = Authority()
MUTUAL = "MUTUAL"  # clients need a certificate
CLIENT_LISTENERS = {
    "CLIENT": "PLAINTEXT", "TLS": "SSL", "SASL": "SASL_PLAINTEXT", "BOTH": "SASL_SSL", MUTUAL: "SSL",
}  # fmt: skip
NODE_LISTENERS = {"REPLICATION": "SASL_SSL", "CONTROL": "SSL", "CONTROLLER": "SASL_PLAINTEXT"}
LISTENERS = {**CLIENT_LISTENERS, **NODE_LISTENERS}
USERS = {"alice": "alice-has-a-secret", "broker": "brokers-have-another"}
_USERS = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class SecuredLines(Cluster):
    """Each node is a broker and a controller. The line "TLS1" leads to the listener TLS of broker 1, and so on."""

    def __init__(
        self, board: SwitchboardThread, folder: Path, brokers: int = 2, overrides: Mapping[str, str] | None = None
    ) -> None:
        self.board = board
        keystore = AUTHORITY.identity("broker").pem_file(folder / "broker.pem")
        as_client = f'{PLAIN_MODULE} username="broker" password="{USERS["broker"]}" {_USERS};'
        secured = [name.lower() for name, protocol in LISTENERS.items() if protocol.startswith("SASL")]
        self._bound: dict[int, Mapping[str, int]] = {}
        super().__init__(
            brokers=brokers,
            overrides={
                "process.roles": "broker,controller",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": ",".join(f"{name}:{one}" for name, one in LISTENERS.items()),
                "ssl.keystore.location": keystore,
                "ssl.keystore.type": "PEM",
                "ssl.truststore.certificates": AUTHORITY.pem,
                "ssl.truststore.type": "PEM",
                f"listener.name.{MUTUAL.lower()}.ssl.client.auth": "required",
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.mechanism.controller.protocol": "PLAIN",
                **{f"listener.name.{name}.plain.sasl.jaas.config": as_client for name in secured},
                **(overrides or {}),
            },
        )

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        self._bound[node_id] = ports
        lines = {name: self.board.add_line(f"{name}{node_id}", ("127.0.0.1", ports[name])) for name in LISTENERS}
        return {
            **super()._properties(node_id, folder),
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
            "advertised.listeners": ",".join(f"{name}://{host}:{port}" for name, (host, port) in lines.items()),
        }

    def bound(self, listener: str, node_id: int) -> str:
        """The address at which a listener is bound, without the switchboard."""
        return f"127.0.0.1:{self._bound[node_id][listener]}"
