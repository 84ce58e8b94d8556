"""The broker keys that the controller applies: start-up, DescribeConfigs and the reference page read this table. Their
values as one object: `ControllerSettings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, at_least
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES, LevelRanges

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Kafka's keys in Python's spelling; `CONTROLLER_CONFIG` documents them. `first_housekeeping_s`: from the begin of
    a controller epoch to the first check of the leader balance (a constant in Kafka). `forwarded_response_ms`: how long
    a broker may retry a forwarded request (twice request.timeout.ms). `inter_broker_listener` is the resolved name.
    `static_configs`: the values of server.properties (defaults of topic configs come from it). `broker_config_table`:
    which broker keys can be changed while brokers run. `supported_features`: the levels that this node supports."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    first_housekeeping_s: float = 5.0
    forwarded_response_ms: int = 60_000
    unclean_shutdown_election_wait_ms: int = 30_000
    delegation_token_max_lifetime_ms: int = 604_800_000
    delegation_token_expiry_time_ms: int = 86_400_000
    delegation_token_expiry_check_interval_ms: int = 3_600_000
    inter_broker_listener: str = "PLAINTEXT"
    static_configs: Mapping[str, str] = field(default_factory=dict)
    broker_config_table: ConfigTable = field(default_factory=lambda: ConfigTable(()))
    supported_features: LevelRanges = field(default_factory=lambda: SUPPORTED_FEATURES)
