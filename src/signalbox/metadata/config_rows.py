# ruff: noqa: E501 (a table reads better with one row per key)
"""Config rows of the ZooKeeper store, with Kafka's names and the defaults of Kafka 3.9. SQLite uses none of them."""

from __future__ import annotations

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least

_B, _S, _I, _LIST, _PASSWORD = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LIST, ConfigType.PASSWORD,
)  # fmt: skip

METADATA_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, Dynamic.READ_ONLY)
    for name, type_, default, validator, doc in (
        ("zookeeper.connect", _S, None, None, "The ZooKeeper connection string, host:port,host:port/chroot. Kafka's form of signalbox.metadata.store=zookeeper:<connection string>."),
        ("zookeeper.session.timeout.ms", _I, 18_000, at_least(1), "The ZooKeeper session timeout in milliseconds. The broker also waits at most this time for a response of ZooKeeper."),
        ("zookeeper.connection.timeout.ms", _I, None, at_least(1), "The maximum time in milliseconds that the broker waits for a connection to ZooKeeper at its start. If not set, zookeeper.session.timeout.ms is used."),
        ("zookeeper.set.acl", _B, False, None, "Whether the broker creates ZooKeeper entries with ACLs: only the brokers of this cluster can write them, and everyone can read them except credentials. Requires an identity: zookeeper.ssl.keystore.location or a JAAS section Client."),
        ("zookeeper.sasl.client", _B, None, None, "Whether the broker authenticates to ZooKeeper with SASL if the JAAS file has a section for it (a Java system property in Kafka). If not set, the value in KAFKA_OPTS in the environment is used, otherwise true."),
        ("zookeeper.sasl.clientconfig", _S, None, None, "The section of the JAAS file with the login module for ZooKeeper (DIGEST-MD5; a Java system property in Kafka). If not set, the value in KAFKA_OPTS in the environment is used, otherwise Client."),
        ("zookeeper.ssl.client.enable", _B, False, None, "Whether the broker uses TLS for connections to ZooKeeper."),
        ("zookeeper.ssl.keystore.location", _S, None, None, "The location of the key store file with the private key and certificate for connections to ZooKeeper, in PEM or PKCS12 format."),
        ("zookeeper.ssl.keystore.password", _PASSWORD, None, None, "The password of the key store file for ZooKeeper: of the PKCS12 store, or of the private key in a PEM file."),
        ("zookeeper.ssl.keystore.type", _S, None, None, "The format of the key store file for ZooKeeper, PEM or PKCS12. The first bytes of the file determine its actual format. JKS is rejected."),
        ("zookeeper.ssl.truststore.location", _S, None, None, "The location of the trust store file with the certificate authorities for ZooKeeper, in PEM or PKCS12 format. If not set, the certificate authorities of the operating system are used."),
        ("zookeeper.ssl.truststore.password", _PASSWORD, None, None, "The password of the trust store file for ZooKeeper, if it is a PKCS12 store."),
        ("zookeeper.ssl.truststore.type", _S, None, None, "The format of the trust store file for ZooKeeper, PEM or PKCS12. The first bytes of the file determine its actual format. JKS is rejected."),
        ("zookeeper.ssl.protocol", _S, "TLSv1.2", None, "The highest TLS version for connections to ZooKeeper: TLSv1.2 or TLSv1.3."),
        ("zookeeper.ssl.enabled.protocols", _LIST, [], None, "The list of TLS versions enabled for connections to ZooKeeper. If not set, only the version of zookeeper.ssl.protocol is enabled."),
        ("zookeeper.ssl.cipher.suites", _LIST, [], None, "The list of cipher suites for connections to ZooKeeper, by Java's or OpenSSL's names. If not set, OpenSSL's default is used."),
        ("zookeeper.ssl.endpoint.identification.algorithm", _S, "HTTPS", None, "The algorithm that verifies the host name in ZooKeeper's certificate: HTTPS. An empty value disables the verification."),
    )
)  # fmt: skip
