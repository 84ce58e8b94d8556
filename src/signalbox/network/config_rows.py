"""The network's configuration keys: Kafka's names, types and defaults, and our few own ones.

Keys of listeners themselves are validated as a whole by `listener_table.py`; the rows here give them a type and a
place in DescribeConfigs and the reference page. Keys marked PREFIXED can be set for one listener alone as
`listener.name.<lower-case name>.<key>` (L5).

Limits change while the broker runs, for one broker or for all (KIP-226); TLS and SASL of a listener change by its
prefixed keys, for one broker; a broker's `listeners` change as a whole. Everything else is read once, at start.

One default differs from Kafka's on purpose: `socket.receive.buffer.bytes` is -1 (the system's own tuning), because a
fixed 100 KB window costs a 1 MB batch 40 % more processor time. The send buffer is Kafka's 100 KB: fetch answers of
1 MB cost a quarter of what the system's own 4 MB makes of them, since the reader keeps up and is seldom woken.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.config_table import (
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
from signalbox.network.listener_entry import (
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
    ("listeners", _S, DEFAULT_LISTENERS, None, "Where to bind: NAME://host:port, comma-separated."),
    ("advertised.listeners", _S, None, None, "What clients are told; a subset of listeners, its default."),
    ("listener.security.protocol.map", _S, DEFAULT_PROTOCOL_MAP, None,
     "NAME:PROTOCOL pairs; setting it replaces the default."),
    ("inter.broker.listener.name", _S, None, None, "The listener brokers use among themselves."),
    ("security.inter.broker.protocol", _S, "PLAINTEXT", None,
     "The same, by protocol; not both (the listener name says more)."),
    ("control.plane.listener.name", _S, None, None,
     "The listener of controller requests, with connections and a queue of its own (KIP-291)."),
    ("control.plane.force.controller.requests.enable", _B, False, None,
     "Whether the control plane refuses everything but controller requests (KIP-702)."),
    ("controller.listener.names", _LIST, [], None,
     "Listeners of dedicated controllers (process.roles): brokers dial the first, clients are refused there."),
)  # fmt: skip

_SERVER_ROWS: tuple[_Row, ...] = (
    ("socket.send.buffer.bytes", _I, 102_400, at_least(-1), "SO_SNDBUF; -1 is the system's choice."),
    ("socket.receive.buffer.bytes", _I, -1, at_least(-1), "SO_RCVBUF; -1 is the system's choice."),
    ("socket.request.max.bytes", _I, MAX_FRAME_SIZE_BYTES, at_least(1),
     "Largest request; a larger one closes its connection."),
    ("socket.listen.backlog.size", _I, 50, at_least(1), "Connections the kernel holds before accept."),
    ("max.connections.per.ip", _I, _INT_MAX, at_least(0), "Connections from one address."),
    ("max.connections.per.ip.overrides", _S, "", None, "host:count pairs with another limit."),
    ("connections.max.idle.ms", _L, 600_000, None, "Idle connections are closed after this; -1 never."),
    ("connection.failed.authentication.delay.ms", _I, 100, at_least(0),
     "How long a failed authentication is kept waiting before its connection closes."),
    ("sasl.jaas.file", _S, None, None,
     "JAAS file with the sections <listener>.KafkaServer and KafkaServer (Java's java.security.auth.login.config)."),
    ("java.security.auth.login.config", _S, None, None,
     "The same by Java's name, where sasl.jaas.file is not set; else that of KAFKA_OPTS in the environment counts."),
    ("sasl.server.max.receive.size", _I, MAX_UNAUTHENTICATED_FRAME_BYTES, at_least(1),
     "Largest frame before authentication."),
    ("connection.write.stall.timeout.ms", _L, 30_000, at_least(1),
     "A peer that takes no byte of its answer for so long is closed."),
    ("connection.setup.timeout.ms", _L, 10_000, at_least(1),
     "TLS handshake and authentication must be through by then."),
    ("data.plane.slice.us", _I, 100, at_least(1),
     "How long the data plane may work before the control plane is looked at."),
    ("data.plane.measure.polls", _B, False, None,
     "Whether the metrics tell how much time passes between two looks at the control plane."),
)  # fmt: skip

_PREFIXED_ROWS: tuple[_Row, ...] = (
    ("max.connections", _I, _INT_MAX, at_least(0), "Connections of the broker, or of one listener."),
    ("max.connection.creation.rate", _I, _INT_MAX, at_least(0),
     "New connections per second of the broker, or of one listener."),
    ("connections.max.reauth.ms", _L, 0, at_least(0),
     "SASL sessions end after this unless the client authenticates again (KIP-368); 0 never."),
    ("principal.builder.class", _CLASS, None, None,
     "Who a peer is: a class by import path, which must be a principal serde too (KIP-590)."),
    ("sasl.enabled.mechanisms", _LIST, ["GSSAPI"], None, "Mechanisms this broker accepts."),
    ("sasl.mechanism.inter.broker.protocol", _S, "GSSAPI", None, "Mechanism brokers use as clients."),
    ("sasl.mechanism.controller.protocol", _S, "GSSAPI", None,
     "Mechanism brokers use as clients of dedicated controllers."),
    ("sasl.server.callback.handler.class", _CLASS, None, None,
     "Who checks passwords or tokens, as a Python import path; per listener and mechanism only."),
    ("sasl.jaas.config", _PW, None, None, "JAAS login module; per listener and mechanism on a server."),
    ("ssl.client.auth", _S, "none", one_of("none", "requested", "required"), "none, requested or required."),
    ("ssl.protocol", _S, "TLSv1.3", one_of("TLS", "TLSv1.2", "TLSv1.3"),
     "The highest TLS version we speak as a client; TLS is no bound."),
    ("ssl.enabled.protocols", _LIST, ["TLSv1.2", "TLSv1.3"], one_of("TLSv1.2", "TLSv1.3"), "TLS versions."),
    ("ssl.cipher.suites", _LIST, [], None,
     "Cipher suites by Java's names (TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256) or OpenSSL's; empty is the default."),
    ("ssl.keystore.type", _S, "PEM", None, "PEM or PKCS12; JKS, Kafka's default, stands for PKCS12 as well."),
    ("ssl.keystore.location", _S, None, None, "File with private key and certificate chain."),
    ("ssl.keystore.password", _PW, None, None, "Password of a PKCS12 keystore."),
    ("ssl.keystore.key", _PW, None, None, "Private key as PEM text."),
    ("ssl.keystore.certificate.chain", _PW, None, None, "Certificate chain as PEM text."),
    ("ssl.key.password", _PW, None, None, "Password of the private key."),
    ("ssl.truststore.type", _S, "PEM", None, "As ssl.keystore.type."),
    ("ssl.truststore.location", _S, None, None, "File with trusted certificates."),
    ("ssl.truststore.password", _PW, None, None, "Password of a PKCS12 truststore."),
    ("ssl.truststore.certificates", _PW, None, None, "Trusted certificates as PEM text."),
    ("ssl.endpoint.identification.algorithm", _S, "https", None, "Host name check as a client; empty is off."),
    ("ssl.allow.dn.changes", _B, False, None,
     "Whether a renewed certificate may have another distinguished name (KIP-978)."),
    ("ssl.allow.san.changes", _B, False, None,
     "Whether a renewed certificate may lack alternative names of the old one (KIP-978)."),
    ("ssl.engine.factory.class", _CLASS, None, None, "Java class that makes TLS engines."),
    ("ssl.keymanager.algorithm", _S, None, None, "Java's key manager."),
    ("ssl.trustmanager.algorithm", _S, None, None, "Java's trust manager."),
    ("ssl.provider", _S, None, None, "Java's security provider."),
    ("ssl.secure.random.implementation", _S, None, None, "Java's source of random numbers."),
    ("security.providers", _S, None, None, "Java classes that bring security providers."),
    ("ssl.principal.mapping.rules", _S, "DEFAULT", None,
     "Rules from a certificate's distinguished name to a user's: RULE:pattern/replacement/[LU] or DEFAULT."),
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
"""Of these, the ones that `listener.name.<name>.<mechanism>.` can override for one SASL mechanism alone."""

_LIMITS = frozenset(
    (
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "max.connection.creation.rate",
    )
)
_RENEWED_WITH_A_LISTENER = ("ssl.", "sasl.", "connections.max.reauth.ms")


def _dynamic(name: str) -> Dynamic:
    if name in _LIMITS:
        return Dynamic.CLUSTER_WIDE
    if name in (LISTENERS, ADVERTISED_LISTENERS, PROTOCOL_MAP):
        return Dynamic.PER_BROKER
    # Without a listener's prefix these are refused, but DescribeConfigs shows them as keys that can change (KIP-226).
    return Dynamic.PER_BROKER if name.startswith("ssl.") else Dynamic.READ_ONLY


def _per_listener(name: str) -> Dynamic | None:
    if name not in PREFIXED_KEYS:
        return None
    if name in _LIMITS:
        return Dynamic.CLUSTER_WIDE
    if name in ("sasl.mechanism.inter.broker.protocol", "sasl.mechanism.controller.protocol"):
        return Dynamic.READ_ONLY  # brokers log in with it: their peers must have been told before
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
