"""The server.properties of the brokers of a test cluster: four listeners, security for that of the clients.

CLIENT is advertised by the switchboard's lines. KIT is for the test kit itself: it advertises the address at which it
is bound, so that no fault concerns the kit's own requests.
"""

from __future__ import annotations

from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.switchboard_line import Target

LISTENERS = ("CLIENT", "REPLICATION", "CONTROL", "KIT")
_SASL_MODULES = {"PLAIN": "plain.PlainLoginModule"}


def of_all(options: ClusterOptions, certificates: CertificateFiles | None) -> dict[str, str]:
    """The keys that all brokers have in common."""
    protocols = {name: options.security if name == "CLIENT" else "PLAINTEXT" for name in LISTENERS}
    properties = {
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4",
        "controlled.shutdown.enable": "false",
        "auto.create.topics.enable": "false",
    }
    if certificates is not None:
        properties |= {
            "listener.name.client.ssl.keystore.location": str(certificates.broker),
            "listener.name.client.ssl.keystore.type": "PEM",
        }
    if options.has_sasl:
        module = _SASL_MODULES.get(options.mechanism, "scram.ScramLoginModule")
        users = " ".join(f'user_{name}="{password}"' for name, password in options.users.items())
        key = f"listener.name.client.{options.mechanism.lower()}.sasl.jaas.config"
        properties |= {
            "listener.name.client.sasl.enabled.mechanisms": options.mechanism,
            key: f"org.apache.kafka.common.security.{module} required {users};",
        }
    if options.authorize:
        properties |= {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # the brokers and the kit; clients have to log in
        }
    return properties | dict(options.overrides)


def of_broker(ports: dict[str, int], advertised: Target) -> dict[str, str]:
    """The listeners of one broker; `advertised` is where clients find it."""
    bound = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    host, port = advertised
    return {
        "listeners": ",".join(bound.values()),
        "advertised.listeners": ",".join((bound | {"CLIENT": f"CLIENT://{host}:{port}"}).values()),
    }
