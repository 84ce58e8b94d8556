"""The configuration keys of our clients: Kafka's names and defaults, KIP-1242's key, and our own
`signalbox.cluster.id.policy`.

Read by `ClientSettings.from_properties`, also for `--command-config` of the command line, and by the reference page.
"""

from __future__ import annotations

from signalbox.client.cluster.rebootstrap import ClusterIdPolicy
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Validator, Value, at_least, one_of
from signalbox.security.oauth.config_rows import LOGIN_ROWS
from signalbox.security.sasl.mechanism import OAUTHBEARER, PLAIN, SCRAM_MECHANISMS

_B, _S, _I, _P, _L = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.PASSWORD,
    ConfigType.LIST,
)


def _servers(value: Value) -> str | None:
    try:
        parse_bootstrap_servers(str(value))
    except ValueError as error:
        return str(error)
    return None


def _policy(value: Value) -> str | None:
    try:
        ClusterIdPolicy(str(value))
    except ValueError as error:
        return str(error)
    return None


_ROWS: tuple[tuple[str, ConfigType, Value, Validator | None, str], ...] = (
    ("bootstrap.servers", _S, None, _servers,
     "The comma-separated list of brokers, host:port, to which the client connects first, and again when it"
     " rebootstraps."),
    ("client.id", _S, "signalbox", None, "The client id in requests."),
    ("request.timeout.ms", _I, 30_000, at_least(1),
     "The maximum time in milliseconds that the client waits for the response to a request."),
    ("default.api.timeout.ms", _I, 60_000, at_least(1),
     "The maximum time in milliseconds for an admin operation, including retries."),
    ("socket.connection.setup.timeout.ms", _I, 10_000, at_least(1),
     "The maximum time in milliseconds to set up a connection, including TLS and SASL."),
    ("reconnect.backoff.ms", _I, 50, at_least(0),
     "The time in milliseconds to wait after a failed connection attempt. It doubles with each attempt up to the"
     " maximum."),
    ("reconnect.backoff.max.ms", _I, 1_000, at_least(0),
     "The maximum time in milliseconds to wait after a failed connection attempt."),
    ("retry.backoff.ms", _I, 100, at_least(0),
     "The time in milliseconds to wait before a failed request is retried. It doubles with each retry up to the"
     " maximum."),
    ("retry.backoff.max.ms", _I, 1_000, at_least(0),
     "The maximum time in milliseconds to wait before a failed request is retried."),
    ("metadata.max.age.ms", _I, 300_000, at_least(1),
     "The time in milliseconds after which the client refreshes its metadata."),
    ("topic.metadata.propagation.max.ms", _I, 5_000, at_least(0),
     "The time in milliseconds that a new topic may need until every broker knows it. A topic that is unknown after"
     " this time is an error. A key of librdkafka."),
    ("metadata.recovery.strategy", _S, "rebootstrap", one_of("none", "rebootstrap"),
     "What the client does when none of the known brokers is available: rebootstrap from bootstrap.servers, or none"
     " (KIP-899)."),
    ("metadata.recovery.rebootstrap.trigger.ms", _I, 300_000, at_least(0),
     "The time in milliseconds since the first failed attempt to get metadata after which the client rebootstraps"
     " (KIP-1102)."),
    ("metadata.cluster.check.enable", _B, True, None,
     "Whether the client sends the expected cluster id and node id to every broker (KIP-1242)."),
    ("signalbox.cluster.id.policy", _S, "follow", _policy,
     "What the client does when the bootstrap servers belong to another cluster. follow: use it, as Kafka's clients"
     " do. pin:<id>, pin-first: reject every cluster except <id>, or except the first one."),
    ("allow.auto.create.topics", _B, False, None, "Whether a Metadata request of the client may create a topic."),
    ("security.protocol", _S, "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
     "The security protocol of the connections."),
    ("sasl.mechanism", _S, "PLAIN", one_of(PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER),
     "The SASL mechanism for the authentication of the client."),
    ("sasl.jaas.config", _P, None, None,
     "The JAAS login module: user name and password, or the credentials for a token endpoint."),
    ("ssl.truststore.location", _S, None, None,
     "The location of the trust store file. If not set, the certificate authorities of the operating system are used."),
    ("ssl.truststore.type", _S, "PEM", one_of("PEM", "PKCS12", "JKS"),
     "The format of the trust store file, PEM or PKCS12. JKS is accepted for PKCS12 files."),
    ("ssl.truststore.password", _P, None, None, "The password of a PKCS12 trust store file."),
    ("ssl.truststore.certificates", _P, None, None, "The trusted certificates in PEM format."),
    ("ssl.keystore.location", _S, None, None,
     "The location of the key store file with the certificate and private key of the client, for mutual TLS."),
    ("ssl.keystore.type", _S, "PEM", one_of("PEM", "PKCS12", "JKS"),
     "The format of the key store file, PEM or PKCS12. JKS is accepted for PKCS12 files."),
    ("ssl.keystore.password", _P, None, None, "The password of a PKCS12 key store file."),
    ("ssl.keystore.key", _P, None, None, "The private key of the client in PEM format."),
    ("ssl.keystore.certificate.chain", _P, None, None, "The certificate chain of the client in PEM format."),
    ("ssl.key.password", _P, None, None, "The password of the private key."),
    ("ssl.protocol", _S, "TLSv1.3", one_of("TLS", "TLSv1.2", "TLSv1.3"),
     "The highest TLS version. TLS means no limit."),
    ("ssl.enabled.protocols", _L, ["TLSv1.2", "TLSv1.3"], one_of("TLSv1.2", "TLSv1.3"),
     "The list of TLS versions that are enabled."),
    ("ssl.cipher.suites", _L, [], None,
     "The list of cipher suites, by Java's names or OpenSSL's. If empty, OpenSSL's default is used."),
    ("ssl.endpoint.identification.algorithm", _S, "https", None,
     "The algorithm that verifies the host name of the broker. An empty value disables the verification."),
)  # fmt: skip

CLIENT_CONFIG = ConfigTable(
    [
        *(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in _ROWS),
        *LOGIN_ROWS,
    ]
)
