"""The broker keys that the controller obeys: what start-up, DescribeConfigs and the reference page show of them."""

from __future__ import annotations

from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least

CONTROLLER_CONFIG = ConfigTable(
    (
        ConfigRow("num.partitions", ConfigType.INT, 1, "Partitions of a topic that does not say.", at_least(1)),
        ConfigRow(
            "default.replication.factor",
            ConfigType.INT,
            1,
            "Replication factor of a topic that does not say.",
            at_least(1),
        ),
        ConfigRow("delete.topic.enable", ConfigType.BOOLEAN, True, "Whether topics can be deleted."),
        ConfigRow(
            "unclean.leader.election.enable",
            ConfigType.BOOLEAN,
            False,
            "Whether a replica that is not in sync may lead as a last resort; it can lose records.",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        ConfigRow(
            "auto.leader.rebalance.enable",
            ConfigType.BOOLEAN,
            True,
            "Whether leadership is given back to preferred replicas from time to time.",
        ),
        ConfigRow(
            "leader.imbalance.check.interval.seconds",
            ConfigType.LONG,
            300,
            "Seconds between two looks at the balance of leaders.",
            at_least(1),
        ),
        ConfigRow(
            "leader.imbalance.per.broker.percentage",
            ConfigType.INT,
            10,
            "Share of a broker's preferred partitions that others may lead before leadership is given back.",
            at_least(0),
        ),
        ConfigRow(
            "delegation.token.max.lifetime.ms",
            ConfigType.LONG,
            604_800_000,
            "Age that no delegation token outlives, however often it is renewed, ms.",
            at_least(1),
        ),
        ConfigRow(
            "delegation.token.expiry.time.ms",
            ConfigType.LONG,
            86_400_000,
            "How long a delegation token is good for unless it is renewed, ms.",
            at_least(1),
        ),
        ConfigRow(
            "delegation.token.expiry.check.interval.ms",
            ConfigType.LONG,
            3_600_000,
            "Time between two removals of expired delegation tokens, ms.",
            at_least(1),
        ),
    )
)
