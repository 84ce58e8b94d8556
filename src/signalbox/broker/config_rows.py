# ruff: noqa: E501 (a table reads better with one row per key)
"""Config rows of the broker itself: identity, defaults for topics, audit, authorization, shutdown. Kafka's names and
defaults where Kafka has them; the keys that begin with `signalbox.` are Signalbox's own."""

from __future__ import annotations

from signalbox.broker.forwarding.version_ceilings import reject_ceilings
from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least, between, one_of
from signalbox.common.inter_broker_protocol import is_inter_broker_protocol

_B, _S, _I, _L, _SHORT, _LIST, _CLASS, _PASSWORD = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.LIST, ConfigType.CLASS,
    ConfigType.PASSWORD,
)  # fmt: skip

BROKER_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, dynamic)
    for name, type_, default, validator, dynamic, doc in (
        ("broker.id", _I, -1, at_least(-1), Dynamic.READ_ONLY, "The id of this broker. The same as node.id."),
        ("node.id", _I, -1, at_least(-1), Dynamic.READ_ONLY, "The id of this node. The same as broker.id."),
        ("broker.rack", _S, None, None, Dynamic.READ_ONLY, "The rack of the broker, for rack-aware replica assignment."),
        ("process.roles", _LIST, [], None, Dynamic.READ_ONLY, "The comma-separated list of roles of this node: broker, controller or both. A node with only the role controller is a dedicated controller and serves no clients. If not set, the node is a broker that can become the controller."),
        ("signalbox.metadata.store", _S, None, None, Dynamic.READ_ONLY, "The metadata store: sqlite:<file>, with all nodes on one host, or zookeeper:<host:port,...>[/chroot]."),
        ("broker.session.timeout.ms", _I, 6_000, at_least(100), Dynamic.READ_ONLY, "The time in milliseconds without a heartbeat after which a broker is considered dead. A closed connection is detected earlier."),
        ("inter.broker.protocol.version", _S, "3.9", is_inter_broker_protocol, Dynamic.READ_ONLY, "The release as which this broker behaves towards other brokers. At 3.4 and above, brokers forward metadata changes to the controller. Below 3.4, brokers write changes of configs, ACLs, quotas, users and delegation tokens directly to the store, and clients send other changes to the controller. Registrations have version 5 at 2.7 and above, version 4 below."),
        ("auto.create.topics.enable", _B, True, None, Dynamic.READ_ONLY, "Whether Metadata requests can create topics."),
        ("create.topic.policy.class.name", _CLASS, None, None, Dynamic.READ_ONLY, "The Python import path of the policy for new topics, including internal topics: a class that receives the configuration and implements validate of signalbox.controller.ports.CreateTopicPolicy."),
        ("alter.config.policy.class.name", _CLASS, None, None, Dynamic.READ_ONLY, "The Python import path of the policy for changes of configs: a class that receives the configuration and implements validate of signalbox.controller.ports.AlterConfigPolicy."),
        ("request.timeout.ms", _I, 30_000, at_least(1), Dynamic.READ_ONLY, "The maximum time in milliseconds for a request between nodes."),
        ("controller.socket.timeout.ms", _I, 30_000, at_least(1), Dynamic.READ_ONLY, "The maximum time in milliseconds for the connection to the controller to be established."),
        ("max.request.partition.size.limit", _I, 2_000, at_least(1), Dynamic.READ_ONLY, "The maximum number of partitions in one DescribeTopicPartitions response."),
        ("controlled.shutdown.enable", _B, True, None, Dynamic.READ_ONLY, "Whether a broker moves the leadership of its partitions to other brokers before it stops."),
        ("controlled.shutdown.max.retries", _I, 3, at_least(0), Dynamic.READ_ONLY, "The number of retries of a controlled shutdown."),
        ("controlled.shutdown.retry.backoff.ms", _L, 5_000, at_least(0), Dynamic.READ_ONLY, "The time in milliseconds between two retries of a controlled shutdown."),
        ("authorizer.class.name", _CLASS, "", None, Dynamic.READ_ONLY, "The Python import path of the authorizer. If empty, every operation is authorized."),
        ("super.users", _S, "", None, Dynamic.READ_ONLY, "The list of super users, Type:name separated by semicolons, who are authorized for every operation."),
        ("allow.everyone.if.no.acl.found", _B, False, None, Dynamic.READ_ONLY, "Whether every user is authorized for a resource that has no ACLs."),
        ("signalbox.authorizer.forwarded.acl.changes.from", _LIST, [], None, Dynamic.READ_ONLY, "The comma-separated list of networks (10.0.0.0/8) from which users, including super users, may change ACLs through a broker that is not the controller. If empty, every network is allowed."),
        ("signalbox.broker.principal.changes.on.client.listeners.enable", _B, False, None, Dynamic.READ_ONLY, "Whether the principal of a broker may make changes on client listeners too, as in Apache Kafka. If false, it may make changes on internal listeners only."),
        ("signalbox.forwarded.api.versions.max", _LIST, [], reject_ceilings, Dynamic.READ_ONLY, "The comma-separated list of the highest supported versions of forwarded APIs, for example CreateTopics:5. If empty, all versions are supported. ApiVersions returns the versions that the broker and the active controller have in common."),
        ("delegation.token.secret.key", _PASSWORD, None, None, Dynamic.READ_ONLY, "The secret key with which the HMACs of delegation tokens are computed. It must be the same on every broker. If not set, delegation tokens are disabled."),
        ("delegation.token.master.key", _PASSWORD, None, None, Dynamic.READ_ONLY, "Kafka's old name of delegation.token.secret.key. If both are set, delegation.token.secret.key is used."),
        ("quota.window.num", _I, 11, at_least(1), Dynamic.READ_ONLY, "The number of windows over which byte rates are measured. A burst of one window less is allowed."),
        ("quota.window.size.seconds", _I, 1, at_least(1), Dynamic.READ_ONLY, "The length in seconds of one window of quota.window.num."),
        ("controller.quota.window.num", _I, 11, at_least(1), Dynamic.READ_ONLY, "The number of windows over which controller_mutation_rate is measured. A burst of this number of windows is allowed."),
        ("controller.quota.window.size.seconds", _I, 1, at_least(1), Dynamic.READ_ONLY, "The length in seconds of one window of controller.quota.window.num."),
        ("signalbox.metrics.http.port", _I, -1, between(-1, 65_535), Dynamic.READ_ONLY, "The port of the HTTP endpoint for Prometheus metrics. -1 disables the endpoint; 0 selects a free port."),
        ("signalbox.metrics.http.host", _S, "127.0.0.1", None, Dynamic.READ_ONLY, "The address to which the HTTP endpoint for Prometheus metrics is bound."),
        ("signalbox.advertised.check", _S, "warn", one_of("off", "warn", "refuse"), Dynamic.CLUSTER_WIDE, "Whether the broker checks which node responds at its advertised addresses and at those of its peers. With `warn`, an address that leads to another node is logged. With `refuse`, the broker is also not ready (/ready at signalbox.metrics.http.port) while an address of its own leads to another node. An address that cannot be reached does not matter."),
        ("signalbox.advertised.check.interval.ms", _L, 300_000, at_least(1), Dynamic.CLUSTER_WIDE, "The time in milliseconds between two checks of the advertised addresses. A start and a change of an advertised address cause a check at once. An address that was not verified is probed again after 5 seconds, and then after pauses that double up to this time."),
        ("signalbox.audit.enable", _B, True, None, Dynamic.READ_ONLY, "Whether the audit trail is written."),
        ("signalbox.audit.topic.partitions", _I, 3, at_least(1), Dynamic.READ_ONLY, "The number of partitions with which the audit topic is created."),
        ("signalbox.audit.topic.replication.factor", _SHORT, 3, at_least(1), Dynamic.READ_ONLY, "The replication factor with which the audit topic is created."),
        ("signalbox.audit.topic.retention.ms", _L, 604_800_000, at_least(-1), Dynamic.READ_ONLY, "The time in milliseconds for which the audit trail is retained."),
        ("signalbox.audit.topic.retention.bytes", _L, 268_435_456, at_least(-1), Dynamic.READ_ONLY, "The maximum number of bytes that each partition of the audit topic retains, set when the topic is created, and later if the topic has no retention.bytes. The oldest events are deleted first. -1 means no limit."),
    )
)  # fmt: skip
