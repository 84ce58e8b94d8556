"""The network's configuration keys: Kafka's names, types and defaults, and a few keys that Kafka does not have.

`listener_table.py` validates the keys of listeners together; the rows here define their type, and list them in
DescribeConfigs and on the reference page. PREFIXED_KEYS can be set for one listener as
`listener.name.<lower-case name>.<key>` (L5).

Limits change while the broker runs, for one broker or for all (KIP-226); TLS and SASL of a listener change by its
prefixed keys, for one broker; a broker's `listeners` change as a whole. Everything else is read once, at start.

One default differs from Kafka's: `socket.receive.buffer.bytes` is -1 (tuned by the system), because a fixed window of
100 KB costs 40 % more processor time for a 1 MB batch. The send buffer is Kafka's 100 KB: a fetch response of 1 MB then
costs a quarter of what it costs with the system's 4 MB, since the reader keeps up and is seldom woken.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.config.config_table import (
    ConfigRow,
    ConfigTable,
    ConfigType,
    Dynamic,
    Validator,
    Value,
    at_least,
    one_of,
)
from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES
from signalbox.network.listeners.listener_entry import (
    ADVERTISED_LISTENERS,
    DEFAULT_LISTENERS,
    DEFAULT_PROTOCOL_MAP,
    LISTENERS,
    PROTOCOL_MAP,
)
from signalbox.security.oauth.config_rows import LOGIN_ROWS, VALIDATION_ROWS

_INT_MAX = 2**31 - 1
_B, _S, _I, _L, _LIST, _PW, _CLASS = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
    ConfigType.PASSWORD,
    ConfigType.CLASS,
)

_Row = tuple[str, ConfigType, Value, Validator | None, str]

_LISTENER_ROWS: tuple[_Row, ...] = (
    ("listeners", _S, DEFAULT_LISTENERS, None,
     "The comma-separated list of listeners, NAME://host:port, that the node binds."),
    ("advertised.listeners", _S, None, None,
     "The comma-separated list of listeners, NAME://host:port, that the broker returns to clients. A subset of"
     " listeners; if not set, listeners is used."),
    ("listener.security.protocol.map", _S, DEFAULT_PROTOCOL_MAP, None,
     "The comma-separated list of NAME:PROTOCOL pairs that map listener names to security protocols. Setting it"
     " replaces the default."),
    ("inter.broker.listener.name", _S, None, None, "The name of the listener for communication between brokers."),
    ("security.inter.broker.protocol", _S, "PLAINTEXT", None,
     "The security protocol of the inter-broker listener. Cannot be set together with inter.broker.listener.name,"
     " which is more specific."),
    ("control.plane.listener.name", _S, None, None,
     "The name of the listener for requests of the controller, with its own connections and queue (KIP-291)."),
    ("control.plane.force.controller.requests.enable", _B, False, None,
     "Whether the control plane listener rejects all requests except those of the controller (KIP-702)."),
    ("controller.listener.names", _LIST, [], None,
     "The comma-separated list of the names of the dedicated controllers' listeners (process.roles). Brokers connect"
     " to the first one; client requests are rejected."),
)  # fmt: skip

_SERVER_ROWS: tuple[_Row, ...] = (
    ("socket.send.buffer.bytes", _I, 102_400, at_least(-1),
     "The SO_SNDBUF buffer size in bytes of the sockets. -1 uses the default of the operating system."),
    ("socket.receive.buffer.bytes", _I, -1, at_least(-1),
     "The SO_RCVBUF buffer size in bytes of the sockets. -1 uses the default of the operating system. Kafka's default"
     " is 102400."),
    ("socket.request.max.bytes", _I, MAX_FRAME_SIZE_BYTES, at_least(1),
     "The maximum number of bytes in a request. A larger request closes its connection."),
    ("socket.listen.backlog.size", _I, 50, at_least(1),
     "The maximum number of pending connections on a listening socket."),
    ("max.connections.per.ip", _I, _INT_MAX, at_least(0), "The maximum number of connections from one IP address."),
    ("max.connections.per.ip.overrides", _S, "", None,
     "The comma-separated list of host:count pairs that override max.connections.per.ip."),
    ("connections.max.idle.ms", _L, 600_000, None,
     "The time in milliseconds after which idle connections are closed. -1 disables this."),
    ("connection.failed.authentication.delay.ms", _I, 100, at_least(0),
     "The time in milliseconds by which the close of a connection is delayed after a failed authentication."),
    ("signalbox.sasl.jaas.file", _S, None, None,
     "The location of the JAAS file with the sections <listener>.KafkaServer and KafkaServer"
     " (java.security.auth.login.config in Java)."),
    ("java.security.auth.login.config", _S, None, None,
     "The location of the JAAS file by its Java name, used if signalbox.sasl.jaas.file is not set. If neither is set,"
     " the value in KAFKA_OPTS in the environment is used."),
    ("sasl.server.max.receive.size", _I, MAX_UNAUTHENTICATED_FRAME_BYTES, at_least(1),
     "The maximum number of bytes in a request before the connection is authenticated."),
    ("signalbox.connection.write.stall.timeout.ms", _L, 30_000, at_least(1),
     "The time in milliseconds after which a connection is closed if the peer reads no byte of a pending response."),
    ("signalbox.connection.setup.timeout.ms", _L, 10_000, at_least(1),
     "The maximum time in milliseconds for the TLS handshake and the authentication of a connection."),
    ("signalbox.event.loop.slice.us", _I, 100, at_least(1),
     "The length of a slice in microseconds: the data plane and every long task run for about this time before the"
     " event loop polls again."),
    ("signalbox.data.plane.measure.polls", _B, False, None,
     "Whether the metrics include the time between two polls of the control plane."),
)  # fmt: skip

_PREFIXED_ROWS: tuple[_Row, ...] = (
    ("max.connections", _I, _INT_MAX, at_least(0),
     "The maximum number of connections of the broker, or of one listener."),
    ("max.connection.creation.rate", _I, _INT_MAX, at_least(0),
     "The maximum number of new connections per second of the broker, or of one listener."),
    ("connections.max.reauth.ms", _L, 0, at_least(0),
     "The maximum time in milliseconds of a SASL session, after which the client must re-authenticate (KIP-368). 0"
     " means no limit."),
    ("principal.builder.class", _CLASS, None, None,
     "The Python import path of the class that builds the principal of a connection. It must be a principal serde too"
     " (KIP-590)."),
    ("sasl.enabled.mechanisms", _LIST, ["GSSAPI"], None,
     "The list of SASL mechanisms that are enabled on the listener."),
    ("sasl.mechanism.inter.broker.protocol", _S, "GSSAPI", None,
     "The SASL mechanism for connections to other brokers."),
    ("sasl.mechanism.controller.protocol", _S, "GSSAPI", None,
     "The SASL mechanism for connections to dedicated controllers."),
    ("sasl.server.callback.handler.class", _CLASS, None, None,
     "The Python import path of the class that validates passwords or tokens. Can be set per listener and mechanism"
     " only."),
    ("sasl.jaas.config", _PW, None, None, "The JAAS login module. On a broker it is set per listener and mechanism."),
    ("ssl.client.auth", _S, "none", one_of("none", "requested", "required"),
     "Whether the listener requests client certificates: none, requested or required."),
    ("ssl.protocol", _S, "TLSv1.3", one_of("TLS", "TLSv1.2", "TLSv1.3"),
     "The highest TLS version for outgoing connections. TLS means no limit."),
    ("ssl.enabled.protocols", _LIST, ["TLSv1.2", "TLSv1.3"], one_of("TLSv1.2", "TLSv1.3"),
     "The list of TLS versions that are enabled."),
    ("ssl.cipher.suites", _LIST, [], None,
     "The list of cipher suites, by Java's names (TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) or OpenSSL's. If empty, the"
     " default is used."),
    ("ssl.keystore.type", _S, "PEM", None,
     "The format of the key store file, PEM or PKCS12. JKS, Kafka's default, is accepted for PKCS12 files."),
    ("ssl.keystore.location", _S, None, None,
     "The location of the key store file with the private key and the certificate chain."),
    ("ssl.keystore.password", _PW, None, None, "The password of a PKCS12 key store file."),
    ("ssl.keystore.key", _PW, None, None, "The private key in PEM format."),
    ("ssl.keystore.certificate.chain", _PW, None, None, "The certificate chain in PEM format."),
    ("ssl.key.password", _PW, None, None, "The password of the private key."),
    ("ssl.truststore.type", _S, "PEM", None,
     "The format of the trust store file, PEM or PKCS12. JKS, Kafka's default, is accepted for PKCS12 files."),
    ("ssl.truststore.location", _S, None, None, "The location of the trust store file with the trusted certificates."),
    ("ssl.truststore.password", _PW, None, None, "The password of a PKCS12 trust store file."),
    ("ssl.truststore.certificates", _PW, None, None, "The trusted certificates in PEM format."),
    ("ssl.endpoint.identification.algorithm", _S, "https", None,
     "The algorithm that verifies the host name of the server for outgoing connections. An empty value disables the"
     " verification."),
    ("ssl.allow.dn.changes", _B, False, None,
     "Whether a renewed certificate may have another distinguished name than the old one (KIP-978)."),
    ("ssl.allow.san.changes", _B, False, None,
     "Whether a renewed certificate may lack subject alternative names of the old one (KIP-978)."),
    ("ssl.engine.factory.class", _CLASS, None, None, "The Java class that creates TLS engines."),
    ("ssl.keymanager.algorithm", _S, None, None, "The algorithm of Java's key manager."),
    ("ssl.trustmanager.algorithm", _S, None, None, "The algorithm of Java's trust manager."),
    ("ssl.provider", _S, None, None, "The name of Java's security provider for TLS."),
    ("ssl.secure.random.implementation", _S, None, None, "The name of Java's secure random number generator for TLS."),
    ("security.providers", _S, None, None, "The list of Java classes that create security providers."),
    ("ssl.principal.mapping.rules", _S, "DEFAULT", None,
     "The comma-separated list of rules that map the distinguished name of a client certificate to a user name:"
     " RULE:pattern/replacement/[LU] or DEFAULT."),
)  # fmt: skip

_TOKEN_ROWS = (*VALIDATION_ROWS, *LOGIN_ROWS)

PREFIXED_KEYS = frozenset([*(row[0] for row in _PREFIXED_ROWS), *(row.name for row in _TOKEN_ROWS)])
"""Keys that `listener.name.<name>.` can override."""

MECHANISM_KEYS = frozenset(
    {
        "connections.max.reauth.ms",
        "sasl.jaas.config",
        "sasl.server.callback.handler.class",
        *(row.name for row in _TOKEN_ROWS),
    }
)
"""Those of PREFIXED_KEYS that `listener.name.<name>.<mechanism>.` can override for one SASL mechanism."""

_LIMITS = frozenset(
    (
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "max.connection.creation.rate",
    )
)
_RENEWED_WITH_A_LISTENER = ("ssl.", "sasl.", "signalbox.sasl.", "connections.max.reauth.ms")


def _dynamic(name: str) -> Dynamic:
    if name in _LIMITS:
        return Dynamic.CLUSTER_WIDE
    if name in (LISTENERS, ADVERTISED_LISTENERS, PROTOCOL_MAP):
        return Dynamic.PER_BROKER
    # Without a listener prefix these are rejected, but DescribeConfigs shows them as dynamic keys (KIP-226).
    return Dynamic.PER_BROKER if name.startswith("ssl.") else Dynamic.READ_ONLY


def _per_listener(name: str) -> Dynamic | None:
    if name not in PREFIXED_KEYS:
        return None
    if name in _LIMITS:
        return Dynamic.CLUSTER_WIDE
    if name in ("sasl.mechanism.inter.broker.protocol", "sasl.mechanism.controller.protocol"):
        return Dynamic.READ_ONLY  # brokers log in with it: their peers need it before
    return Dynamic.PER_BROKER if name.startswith(_RENEWED_WITH_A_LISTENER) else Dynamic.READ_ONLY


_PLAIN_ROWS = (
    ConfigRow(name, type_, default, doc, validator)
    for name, type_, default, validator, doc in (*_LISTENER_ROWS, *_SERVER_ROWS, *_PREFIXED_ROWS)
)

NETWORK_CONFIG = ConfigTable(
    replace(
        row,
        dynamic=_dynamic(row.name),
        per_listener=_per_listener(row.name),
        per_mechanism=row.name in MECHANISM_KEYS,
    )
    for row in (*_PLAIN_ROWS, *_TOKEN_ROWS)
)
