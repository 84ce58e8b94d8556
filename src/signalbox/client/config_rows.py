"""The keys of our clients, Kafka's names and defaults, beside two of our own (`cluster.id.policy`, KIP-1242's end).

Read by `ClientSettings.from_properties`, by the command line's `--config`, and by the reference page.
"""

from __future__ import annotations

from signalbox.client.cluster_id_policy import ClusterIdPolicy
from signalbox.client.node import parse_bootstrap_servers
from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Validator, Value, at_least, one_of
from signalbox.security.oauth.config_rows import LOGIN_ROWS
from signalbox.security.sasl.oauthbearer import OAUTHBEARER
from signalbox.security.sasl.plain import PLAIN
from signalbox.security.sasl.scram_messages import SCRAM_MECHANISMS

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
    ("bootstrap.servers", _S, None, _servers, "host:port,host:port: where to begin, and to begin again."),
    ("client.id", _S, "signalbox", None, "The name this client gives itself in requests."),
    ("request.timeout.ms", _I, 30_000, at_least(1), "How long one request may wait for its answer."),
    ("default.api.timeout.ms", _I, 60_000, at_least(1), "How long an admin call may take, retries included."),
    ("socket.connection.setup.timeout.ms", _I, 10_000, at_least(1),
     "How long connecting may take, TLS and SASL included."),
    ("reconnect.backoff.ms", _I, 50, at_least(0), "Wait after a failed connect; doubles up to the maximum."),
    ("reconnect.backoff.max.ms", _I, 1_000, at_least(0), "The longest wait after failed connects."),
    ("retry.backoff.ms", _I, 100, at_least(0), "Wait before a refused request is tried again; doubles."),
    ("retry.backoff.max.ms", _I, 1_000, at_least(0), "The longest wait between tries."),
    ("metadata.max.age.ms", _I, 300_000, at_least(1), "Metadata older than this is asked for again."),
    ("metadata.recovery.strategy", _S, "rebootstrap", one_of("none", "rebootstrap"),
     "What to do when the known nodes lead nowhere: begin again from bootstrap.servers, or nothing (KIP-899)."),
    ("metadata.recovery.rebootstrap.trigger.ms", _I, 300_000, at_least(0),
     "Begin again when Metadata could not be had for this long since the first failed try (KIP-1102)."),
    ("metadata.cluster.check.enable", _B, True, None,
     "Tell every broker which node of which cluster it is believed to be (KIP-1242)."),
    ("cluster.id.policy", _S, "follow", _policy,
     "follow: be led to another cluster by the seeds, as Kafka is; pin:<id>, pin-first: refuse to be."),
    ("allow.auto.create.topics", _B, False, None, "Whether asking for a topic may create it."),
    ("security.protocol", _S, "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
     "How connections are secured."),
    ("sasl.mechanism", _S, "PLAIN", one_of(PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER), "The SASL mechanism."),
    ("sasl.jaas.config", _P, None, None, "The login module: username and password, or what a token endpoint asks for."),
    ("ssl.truststore.location", _S, None, None, "The authorities to trust; none = the system's."),
    ("ssl.truststore.type", _S, "PEM", one_of("PEM", "PKCS12", "JKS"), "What it is; JKS: PKCS12."),
    ("ssl.truststore.password", _P, None, None, "Opens a PKCS12 truststore."),
    ("ssl.truststore.certificates", _P, None, None, "The authorities themselves, in PEM."),
    ("ssl.keystore.location", _S, None, None, "Our certificate and key, for mutual TLS."),
    ("ssl.keystore.type", _S, "PEM", one_of("PEM", "PKCS12", "JKS"), "What it is; JKS: PKCS12."),
    ("ssl.keystore.password", _P, None, None, "Opens a PKCS12 keystore."),
    ("ssl.keystore.key", _P, None, None, "Our private key itself, in PEM."),
    ("ssl.keystore.certificate.chain", _P, None, None, "Our certificates themselves, in PEM."),
    ("ssl.key.password", _P, None, None, "Opens an encrypted private key."),
    ("ssl.protocol", _S, "TLSv1.3", one_of("TLS", "TLSv1.2", "TLSv1.3"), "The highest TLS version; TLS: no bound."),
    ("ssl.enabled.protocols", _L, ["TLSv1.2", "TLSv1.3"], one_of("TLSv1.2", "TLSv1.3"), "TLS versions to offer."),
    ("ssl.cipher.suites", _L, [], None, "Suites to offer, by Java's names or OpenSSL's; none = OpenSSL's choice."),
    ("ssl.endpoint.identification.algorithm", _S, "https", None, "Empty: the broker's host name is not checked."),
)  # fmt: skip

CLIENT_CONFIG = ConfigTable(
    [
        *(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in _ROWS),
        *LOGIN_ROWS,
    ]
)
