"""What the reference page of the configuration says of a key beside its description: unit, range and example.

The unit is the end of the key's name, the range is that of its validator. What neither tells is a table here.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config.config_table import ConfigRow, ConfigType, Rule

_NUMBERS = (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.DOUBLE)
_UNITS = {
    "ms": "ms",
    "us": "µs",
    "bytes": "bytes",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "percentage": "%",
    "second": "bytes/s",
}
_UNITS_BY_KEY = {
    "sasl.server.max.receive.size": "bytes",
    "log.cleaner.dedupe.buffer.size": "bytes",
    "log.cleaner.io.buffer.size": "bytes",
    "offsets.load.buffer.size": "bytes",
    "transaction.state.log.load.buffer.size": "bytes",
    "leader.replication.throttled.rate": "bytes/s",
    "follower.replication.throttled.rate": "bytes/s",
    "max.connection.creation.rate": "1/s",
    "batch.size": "bytes",
    "buffer.memory": "bytes",
    "max.request.size": "bytes",
}
# Ranges of validators that are functions of their own.
_RANGES = {
    "inter.broker.protocol.version": "0.8.0 to 3.9",
    "signalbox.forwarded.api.versions.max": "`API:version,...`",
    "sasl.oauthbearer.scope.claim.name": "not empty",
    "sasl.oauthbearer.sub.claim.name": "not empty",
    "compression.gzip.level": "-1, or 1 to 9",
    "follower.replication.throttled.replicas": "`partition:broker,...`, or `*`",
    "leader.replication.throttled.replicas": "`partition:broker,...`, or `*`",
    "remote.storage.enable": "`false`",
    "bootstrap.servers": "`host:port,...`",
    "signalbox.cluster.id.policy": "`follow`, `pin-first`, `pin:<cluster id>`",
}
_JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";'
# Examples of the keys without a default.
EXAMPLES: Mapping[str, str] = {
    "broker.rack": "eu-central-1a",
    "process.roles": "controller",
    "signalbox.metadata.store": "sqlite:/var/lib/signalbox/metadata.db",
    "create.topic.policy.class.name": "my_policies.NewTopics",
    "alter.config.policy.class.name": "my_policies.Configs",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:admin;User:broker",
    "signalbox.authorizer.forwarded.acl.changes.from": "10.0.0.0/8",
    "signalbox.forwarded.api.versions.max": "CreateTopics:5",
    "delegation.token.secret.key": "a long random text",
    "delegation.token.master.key": "a long random text",
    "zookeeper.connect": "zk1:2181,zk2:2181,zk3:2181/kafka",
    "zookeeper.connection.timeout.ms": "18000",
    "zookeeper.sasl.client": "true",
    "zookeeper.sasl.clientconfig": "Client",
    "zookeeper.ssl.keystore.location": "/etc/signalbox/zookeeper.pem",
    "zookeeper.ssl.keystore.password": "changeit",
    "zookeeper.ssl.keystore.type": "PEM",
    "zookeeper.ssl.truststore.location": "/etc/signalbox/ca.pem",
    "zookeeper.ssl.truststore.password": "changeit",
    "zookeeper.ssl.truststore.type": "PEM",
    "zookeeper.ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "zookeeper.ssl.cipher.suites": "TLS_AES_128_GCM_SHA256",
    "advertised.listeners": "CLIENT://kafka1.example.org:9092",
    "inter.broker.listener.name": "REPLICATION",
    "control.plane.listener.name": "CONTROL",
    "controller.listener.names": "CONTROLLER",
    "max.connections.per.ip.overrides": "10.0.0.1:100,10.0.0.2:200",
    "signalbox.sasl.jaas.file": "/etc/signalbox/jaas.conf",
    "java.security.auth.login.config": "/etc/signalbox/jaas.conf",
    "principal.builder.class": "my_principals.Builder",
    "sasl.server.callback.handler.class": "directory_passwords.DirectoryPasswords",
    "sasl.jaas.config": _JAAS,
    "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384",
    "ssl.keystore.location": "/etc/signalbox/broker.pem",
    "ssl.keystore.password": "changeit",
    "ssl.keystore.key": "-----BEGIN PRIVATE KEY----- ...",
    "ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE----- ...",
    "ssl.key.password": "changeit",
    "ssl.truststore.location": "/etc/signalbox/ca.pem",
    "ssl.truststore.password": "changeit",
    "ssl.truststore.certificates": "-----BEGIN CERTIFICATE----- ...",
    "sasl.oauthbearer.jwks.endpoint.url": "file:///etc/signalbox/jwks.json",
    "sasl.oauthbearer.expected.audience": "kafka",
    "sasl.oauthbearer.expected.issuer": "https://issuer.example",
    "signalbox.sasl.oauthbearer.expected.scope": "kafka.write",
    "sasl.login.callback.handler.class": "my_tokens.Login",
    "sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token",
    "sasl.oauthbearer.client.credentials.client.id": "signalbox",
    "sasl.oauthbearer.client.credentials.client.secret": "secret",
    "sasl.oauthbearer.scope": "kafka",
    "sasl.login.connect.timeout.ms": "10000",
    "sasl.login.read.timeout.ms": "10000",
    "log.dirs": "/var/lib/signalbox/data",
    "log.retention.minutes": "1440",
    "log.retention.ms": "86400000",
    "log.flush.interval.ms": "1000",
    "log.roll.jitter.ms": "60000",
    "log.roll.ms": "86400000",
    "follower.replication.throttled.replicas": "0:1,1:2",
    "leader.replication.throttled.replicas": "0:1,1:2",
    "bootstrap.servers": "kafka1:9092,kafka2:9092",
    "transactional.id": "receipts-1",
    "group.id": "billing",
    "group.instance.id": "billing-1",
    "client.rack": "eu-central-1a",
}


def unit(row: ConfigRow) -> str:
    """The unit of a number, or nothing."""
    if row.type not in _NUMBERS:
        return ""
    return _UNITS_BY_KEY.get(row.name) or _UNITS.get(row.name.rpartition(".")[2], "")


def allowed(row: ConfigRow) -> str:
    """The range of the values, or nothing if any value of the type is accepted."""
    if isinstance(row.validator, Rule):
        return row.validator.allowed
    return _RANGES.get(row.name, "")


def example(row: ConfigRow) -> str:
    """A value that can be set, for a key whose default is not one."""
    return EXAMPLES.get(row.name, "") if row.default in (None, "", []) else ""
