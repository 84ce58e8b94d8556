"""The broker keys that the controller applies: start-up, DescribeConfigs and the reference page read this table."""

from __future__ import annotations

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least

CONTROLLER_CONFIG = ConfigTable(
    (
        ConfigRow("num.partitions", ConfigType.INT, 1, "The default number of partitions of a new topic.", at_least(1)),
        ConfigRow(
            "default.replication.factor",
            ConfigType.INT,
            1,
            "The default replication factor of a new topic.",
            at_least(1),
        ),
        ConfigRow("delete.topic.enable", ConfigType.BOOLEAN, True, "Whether topics can be deleted."),
        ConfigRow(
            "unclean.leader.election.enable",
            ConfigType.BOOLEAN,
            False,
            "Whether a replica that is not in the ISR can become the leader as a last resort, which can lose records.",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        ConfigRow(
            "signalbox.unclean.shutdown.election.wait.ms",
            ConfigType.LONG,
            30_000,
            "The maximum time in milliseconds that a partition waits for absent ISR members after an unclean shutdown"
            " of"
            " all members, before the available member with the longest log becomes the leader.",
            at_least(0),
        ),
        ConfigRow(
            "auto.leader.rebalance.enable",
            ConfigType.BOOLEAN,
            True,
            "Whether the controller periodically moves leadership back to the preferred replicas.",
        ),
        ConfigRow(
            "leader.imbalance.check.interval.seconds",
            ConfigType.LONG,
            300,
            "The interval in seconds at which the controller checks the leader imbalance.",
            at_least(1),
        ),
        ConfigRow(
            "leader.imbalance.per.broker.percentage",
            ConfigType.INT,
            10,
            "The percentage of a broker's preferred partitions that other brokers may lead before leadership is moved"
            " back.",
            at_least(0),
        ),
        ConfigRow(
            "delegation.token.max.lifetime.ms",
            ConfigType.LONG,
            604_800_000,
            "The maximum lifetime in milliseconds of a delegation token, however often it is renewed.",
            at_least(1),
        ),
        ConfigRow(
            "delegation.token.expiry.time.ms",
            ConfigType.LONG,
            86_400_000,
            "The time in milliseconds after which a delegation token expires unless it is renewed.",
            at_least(1),
        ),
        ConfigRow(
            "delegation.token.expiry.check.interval.ms",
            ConfigType.LONG,
            3_600_000,
            "The interval in milliseconds at which expired delegation tokens are removed.",
            at_least(1),
        ),
    )
)
