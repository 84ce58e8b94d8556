# ruff: noqa: E501 (a table reads better with one row per key)
"""Config rows of the ZooKeeper store, under Kafka's names and with Kafka 3.9's defaults. None is asked of SQLite."""

from __future__ import annotations

from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least

_B, _S, _I, _LIST, _PASSWORD = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LIST, ConfigType.PASSWORD,
)  # fmt: skip

METADATA_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, Dynamic.READ_ONLY)
    for name, type_, default, validator, doc in (
        ("zookeeper.connect", _S, None, None, "Kafka's spelling of metadata.store=zookeeper:<this>: host:port,host:port/chroot."),
        ("zookeeper.session.timeout.ms", _I, 18_000, at_least(1), "Silence after which ZooKeeper ends a broker's session, ms; also how long an answer is waited for."),
        ("zookeeper.connection.timeout.ms", _I, None, at_least(1), "How long the start waits for a connection, ms; unset: zookeeper.session.timeout.ms."),
        ("zookeeper.set.acl", _B, False, None, "Whether only this cluster's brokers may write what they made in ZooKeeper; the rest of the world reads, except credentials. Needs an identity: zookeeper.ssl.keystore.location or a JAAS section Client."),
        ("zookeeper.sasl.client", _B, None, None, "Java's system property: whether to log in where the JAAS file has a section for it; unset: that of KAFKA_OPTS in the environment, else true."),
        ("zookeeper.sasl.clientconfig", _S, None, None, "Java's system property: the section of the JAAS file with the login for ZooKeeper (DIGEST-MD5); unset: that of KAFKA_OPTS in the environment, else Client."),
        ("zookeeper.ssl.client.enable", _B, False, None, "TLS towards ZooKeeper."),
        ("zookeeper.ssl.keystore.location", _S, None, None, "File with the broker's private key and certificate for ZooKeeper, PEM or PKCS12."),
        ("zookeeper.ssl.keystore.password", _PASSWORD, None, None, "Password of that file: of the PKCS12 store, or of the private key in PEM."),
        ("zookeeper.ssl.keystore.type", _S, None, None, "PEM or PKCS12; what the file is, its first bytes say. JKS is refused."),
        ("zookeeper.ssl.truststore.location", _S, None, None, "File with the certificates that ZooKeeper's must be signed by, PEM or PKCS12; unset: the system's."),
        ("zookeeper.ssl.truststore.password", _PASSWORD, None, None, "Password of that file if it is a PKCS12 store."),
        ("zookeeper.ssl.truststore.type", _S, None, None, "PEM or PKCS12; what the file is, its first bytes say. JKS is refused."),
        ("zookeeper.ssl.protocol", _S, "TLSv1.2", None, "The highest TLS version towards ZooKeeper: TLSv1.2 or TLSv1.3."),
        ("zookeeper.ssl.enabled.protocols", _LIST, [], None, "TLS versions towards ZooKeeper; unset: zookeeper.ssl.protocol alone."),
        ("zookeeper.ssl.cipher.suites", _LIST, [], None, "Cipher suites by Java's or OpenSSL's names; unset: OpenSSL's choice."),
        ("zookeeper.ssl.endpoint.identification.algorithm", _S, "HTTPS", None, "HTTPS checks ZooKeeper's host name; empty does not."),
    )
)  # fmt: skip
