"""Two brokers with every kind of listener, and for each client the valid access to a listener and the faulty ones.

Between each other the brokers use SASL_SSL with SCRAM-SHA-512, and TLS on the control plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from signalbox.testing.process_cluster import ProcessCluster
from tests.security.certificates import Authority, Identity
from tests.system.clusters import QUICK, metric
from tests.system.interop_security.access import Access
from tests.system.interop_security.matrix import LISTENERS, MECHANISMS, Fault, Kind
from tests.system.interop_security.tokens import TokenIssuer

BROKERS = 2
USER, PASSWORD = "alice", "alice-secret"
_SECURITY = "org.apache.kafka.common.security"
_SCRAM = f"{_SECURITY}.scram.ScramLoginModule required"
_MODULES = {
    "PLAIN": f'{_SECURITY}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
    "SCRAM-SHA-256": f"{_SCRAM};",  # its users are in the metadata store
    "SCRAM-SHA-512": f"{_SCRAM};",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required;",
}
_AMONG_BROKERS = f'{_SCRAM} username="broker" password="broker-secret" user_broker="broker-secret";'
_HOSTS = {"NAMELESS": "127.0.0.2"}


class SecuredCluster:
    """`folder` receives keys, certificates, tokens and the brokers' own folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority, self._other_authority = Authority(), Authority()
        self._write_identity("alice", self._authority.identity("alice"))
        self._write_identity("untrusted", self._other_authority.identity("alice"))
        (folder / "ca.pem").write_text(self._authority.pem)
        (folder / "other-ca.pem").write_text(self._other_authority.pem)
        self._issuer = TokenIssuer(folder)
        self._cluster = ProcessCluster(folder, BROKERS, overrides=self._properties())

    def start(self) -> None:
        self._issuer.start()
        self._cluster.start()

    def stop(self) -> None:
        self._cluster.stop()
        self._issuer.stop()

    @property
    def token_urls(self) -> tuple[str, ...]:
        """Every URL that serves tokens."""
        return self._issuer.urls

    def access(self, kind: Kind) -> Access:
        """The valid access."""
        access = Access(servers=self._cluster.bootstrap(kind.listener), protocol=kind.protocol)
        if access.uses_tls:
            access = replace(access, ca_file=self._file("ca.pem"))
        if kind.mutual:
            access = self._identified(access, "alice")
        if kind.mechanism == "OAUTHBEARER":
            return self._with_token(replace(access, mechanism=kind.mechanism), "good")
        if kind.mechanism:
            return replace(access, mechanism=kind.mechanism, user=USER, password=PASSWORD)
        return access

    def rejections(self, kind: Kind) -> float:
        """The number of rejections of the brokers on that listener."""
        name, listener = "signalbox_network_socketserver_rejections_total", kind.listener
        return sum(metric(self._cluster, node_id, name, listener=listener) for node_id in self._cluster.brokers)

    def faulty_access(self, fault: Fault) -> Access:
        """The valid access changed by the fault."""
        access = self.access(fault.kind)
        for field, value in fault.change.items():
            if field == "token":
                access = self._with_token(access, value)
            elif field == "identity":
                access = self._identified(access, value)
            elif field == "ca_file":
                access = replace(access, ca_file=self._file(value))
            else:
                access = replace(access, **{field: value})
        return access

    def _with_token(self, access: Access, name: str) -> Access:
        return replace(access, token=self._issuer.token(name), token_url=self._issuer.url(name))

    def _identified(self, access: Access, name: str) -> Access:
        return replace(access, certificate_file=self._file(f"{name}.pem"), key_file=self._file(f"{name}-key.pem"))

    def _file(self, name: str) -> str:
        return str(self._folder / name)

    def _write_identity(self, name: str, identity: Identity) -> None:
        (self._folder / f"{name}.pem").write_text(identity.certificate_pem)
        (self._folder / f"{name}-key.pem").write_text(identity.key_pem())

    def _properties(self) -> Mapping[str, str]:
        broker = self._authority.identity("broker")
        store = broker.pkcs12_file(self._folder / "broker.p12", "store-secret", self._authority.certificate)
        properties = {
            **QUICK,
            "listeners": ",".join(f"{name}://{_HOSTS.get(name, '127.0.0.1')}:0" for name in LISTENERS),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": broker.pem_file(self._folder / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self._file("ca.pem"),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.pkcs.ssl.keystore.type": "PKCS12",
            "listener.name.pkcs.ssl.keystore.location": store,
            "listener.name.pkcs.ssl.keystore.password": "store-secret",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.replication.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.replication.scram-sha-512.sasl.jaas.config": _AMONG_BROKERS,
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        }
        for listener in ("login", "both"):
            for mechanism in MECHANISMS:
                key = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
                properties[key] = _MODULES[mechanism]
            properties |= self._issuer.broker_properties(f"listener.name.{listener}.oauthbearer.")
        return properties
