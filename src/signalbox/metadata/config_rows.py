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
        ("zookeeper.set.acl", _B, False, None, "Whether only this cluster's brokers may write what they made in ZooKeeper; the rest of the world reads, except credentials. Needs an identity: zookeeper.ssl.keystore.location."),
        ("zookeeper.ssl.client.enable", _B, False, None, "TLS towards ZooKeeper."),
        ("zookeeper.ssl.keystore.location", _S, None, None, "PEM file with the broker's private key and certificate for ZooKeeper."),
        ("zookeeper.ssl.keystore.password", _PASSWORD, None, None, "Password of the private key in it."),
        ("zookeeper.ssl.keystore.type", _S, "PEM", None, "PEM is what is read; JKS and PKCS12 are refused."),
        ("zookeeper.ssl.truststore.location", _S, None, None, "PEM file with the certificates that ZooKeeper's must be signed by."),
        ("zookeeper.ssl.truststore.type", _S, "PEM", None, "PEM is what is read; JKS and PKCS12 are refused."),
        ("zookeeper.ssl.endpoint.identification.algorithm", _S, "HTTPS", None, "HTTPS checks ZooKeeper's host name; empty does not."),
    )
)  # fmt: skip
