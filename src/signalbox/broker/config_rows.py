# ruff: noqa: E501 (a table reads better with one row per key)
"""Config rows of the broker itself: identity, defaults for topics, audit, authorisation, shutdown. Kafka's names and
defaults where Kafka has them; `metadata.store`, `metrics.*` and `audit.*` are ours."""

from __future__ import annotations

from signalbox.broker.version_ceilings import refuse_ceilings
from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least, between
from signalbox.common.inter_broker_protocol import is_inter_broker_protocol

_B, _S, _I, _L, _SHORT, _LIST, _CLASS, _PASSWORD = (
    ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.SHORT, ConfigType.LIST, ConfigType.CLASS,
    ConfigType.PASSWORD,
)  # fmt: skip

BROKER_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, dynamic)
    for name, type_, default, validator, dynamic, doc in (
        ("broker.id", _I, -1, at_least(-1), Dynamic.READ_ONLY, "This broker's id; the same as node.id."),
        ("node.id", _I, -1, at_least(-1), Dynamic.READ_ONLY, "This node's id; the same as broker.id."),
        ("broker.rack", _S, None, None, Dynamic.READ_ONLY, "Where the broker stands, for rack-aware placement."),
        ("process.roles", _LIST, [], None, Dynamic.READ_ONLY, "broker, controller or both: dedicated controllers lead the cluster and serve no clients. Without it a node is a broker that may become the controller."),
        ("metadata.store", _S, None, None, Dynamic.READ_ONLY, "Where metadata lives: sqlite:<file>, all nodes on one host, or zookeeper:<host:port,...>[/chroot]."),
        ("broker.session.timeout.ms", _I, 6_000, at_least(100), Dynamic.READ_ONLY, "Silence after which a broker counts as dead, ms; a closed connection tells sooner."),
        ("inter.broker.protocol.version", _S, "3.9", is_inter_broker_protocol, Dynamic.READ_ONLY, "The release this broker behaves as towards the others. From 3.4 on changes are forwarded to the controller; below, brokers store changes of configs, ACLs, quotas, users and tokens by themselves and clients find the controller for the rest. From 2.7 on registrations are of version 5 and leaders ask the controller for another ISR; below, they are of version 4, and leaders store it by themselves."),
        ("auto.create.topics.enable", _B, True, None, Dynamic.READ_ONLY, "Whether Metadata may create topics."),
        ("create.topic.policy.class.name", _CLASS, None, None, Dynamic.READ_ONLY, "Import path of a policy for new topics, internal ones too: a class that takes the configuration and has signalbox.controller.ports.CreateTopicPolicy's validate."),
        ("alter.config.policy.class.name", _CLASS, None, None, Dynamic.READ_ONLY, "Import path of a policy for changes of configs: a class that takes the configuration and has signalbox.controller.ports.AlterConfigPolicy's validate."),
        ("request.timeout.ms", _I, 30_000, at_least(1), Dynamic.READ_ONLY, "How long a request between nodes may take, ms."),
        ("controller.socket.timeout.ms", _I, 30_000, at_least(1), Dynamic.READ_ONLY, "How long connecting to the controller may take, ms."),
        ("max.request.partition.size.limit", _I, 2_000, at_least(1), Dynamic.READ_ONLY, "Partitions in one answer to DescribeTopicPartitions."),
        ("controlled.shutdown.enable", _B, True, None, Dynamic.READ_ONLY, "Whether a stopping broker hands its partitions over first."),
        ("controlled.shutdown.max.retries", _I, 3, at_least(0), Dynamic.READ_ONLY, "Tries of a controlled shutdown."),
        ("controlled.shutdown.retry.backoff.ms", _L, 5_000, at_least(0), Dynamic.READ_ONLY, "Wait between them, ms."),
        ("authorizer.class.name", _CLASS, "", None, Dynamic.READ_ONLY, "Import path of the authorizer; empty allows everything."),
        ("super.users", _S, "", None, Dynamic.READ_ONLY, "Type:name, separated by semicolons: these may do everything."),
        ("allow.everyone.if.no.acl.found", _B, False, None, Dynamic.READ_ONLY, "Whether a resource without ACLs is open to all."),
        ("authorizer.forwarded.acl.changes.from", _LIST, [], None, Dynamic.READ_ONLY, "Networks (10.0.0.0/8) from which ACLs may be changed through a broker that is not the controller, by super users too; empty is anywhere."),
        ("broker.principal.changes.on.client.listeners.enable", _B, False, None, Dynamic.READ_ONLY, "Whether a principal that brokers log in with may make changes on listeners of clients too, as in Apache Kafka; otherwise it may on listeners of brokers alone."),
        ("forwarded.api.versions.max", _LIST, [], refuse_ceilings, Dynamic.READ_ONLY, "Highest versions of changes that are listed and taken, CreateTopics:5 and so on; empty is all. Clients are told what the broker they ask and the active controller have in common."),
        ("delegation.token.secret.key", _PASSWORD, None, None, Dynamic.READ_ONLY, "Secret that the HMACs of delegation tokens are made with, the same on every broker; without it there are no delegation tokens."),
        ("delegation.token.master.key", _PASSWORD, None, None, Dynamic.READ_ONLY, "Kafka's old name of delegation.token.secret.key, which counts where both are set."),
        ("quota.window.num", _I, 11, at_least(1), Dynamic.READ_ONLY, "Windows over which byte rates are measured; so many less one may come at once."),
        ("quota.window.size.seconds", _I, 1, at_least(1), Dynamic.READ_ONLY, "The length of one, s."),
        ("controller.quota.window.num", _I, 11, at_least(1), Dynamic.READ_ONLY, "Windows over which controller_mutation_rate is measured; so many may come at once."),
        ("controller.quota.window.size.seconds", _I, 1, at_least(1), Dynamic.READ_ONLY, "The length of one, s."),
        ("metrics.http.port", _I, -1, between(-1, 65_535), Dynamic.READ_ONLY, "Port of the Prometheus page on loopback; -1 is none, 0 any free one."),
        ("metrics.http.host", _S, "127.0.0.1", None, Dynamic.READ_ONLY, "Address the Prometheus page is bound to."),
        ("audit.enable", _B, True, None, Dynamic.READ_ONLY, "Whether the routing audit trail is written."),
        ("audit.topic.partitions", _I, 3, at_least(1), Dynamic.READ_ONLY, "Partitions of the audit topic when it is created."),
        ("audit.topic.replication.factor", _SHORT, 3, at_least(1), Dynamic.READ_ONLY, "Replicas of the audit topic when it is created."),
        ("audit.topic.retention.ms", _L, 604_800_000, at_least(-1), Dynamic.READ_ONLY, "How long the audit trail is kept, ms."),
    )
)  # fmt: skip
