"""The server.properties of the brokers of a test cluster: four listeners, and more of clients if a test wants them.

CLIENT is advertised by the switchboard's lines. KIT is for the test kit itself: it advertises the address at which it
is bound, so that no fault concerns the kit's own requests.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles
from signalbox.testing.kafka_cluster.cluster_options import OWN_LISTENERS, ClusterOptions
from signalbox.testing.switchboard_line import Target

_SASL_MODULES = {"PLAIN": "plain.PlainLoginModule"}


def of_all(options: ClusterOptions, certificates: CertificateFiles | None) -> dict[str, str]:
    """The keys that all brokers have in common."""
    protocols = dict.fromkeys(OWN_LISTENERS, "PLAINTEXT") | options.protocols
    properties = {
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4",
        "controlled.shutdown.enable": "false",
        "auto.create.topics.enable": "false",
    }
    for name, protocol in options.protocols.items():
        properties |= _security(f"listener.name.{name.lower()}", protocol, options, certificates)
    if options.has_acls:
        properties |= {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # the brokers and the kit; clients have to log in
        }
    return properties | dict(options.overrides)


def _security(
    prefix: str, protocol: str, options: ClusterOptions, certificates: CertificateFiles | None
) -> dict[str, str]:
    """The keys of one listener of clients."""
    properties: dict[str, str] = {}
    if protocol.endswith("SSL") and certificates is not None:
        properties |= {
            f"{prefix}.ssl.keystore.location": str(certificates.broker), f"{prefix}.ssl.keystore.type": "PEM"
        }  # fmt: skip
    if protocol.startswith("SASL"):
        module = _SASL_MODULES.get(options.mechanism, "scram.ScramLoginModule")
        users = " ".join(f'user_{name}="{password}"' for name, password in options.users.items())
        properties |= {
            f"{prefix}.sasl.enabled.mechanisms": options.mechanism,
            f"{prefix}.{options.mechanism.lower()}.sasl.jaas.config": (
                f"org.apache.kafka.common.security.{module} required {users};"
            ),
        }
    return properties


def of_broker(ports: dict[str, int], advertised: Mapping[str, Target]) -> dict[str, str]:
    """The listeners of one broker; `advertised` is where clients find those of clients."""
    bound = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    public = {name: f"{name}://{host}:{port}" for name, (host, port) in advertised.items()}
    return {"listeners": ",".join(bound.values()), "advertised.listeners": ",".join((bound | public).values())}
