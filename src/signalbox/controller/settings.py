"""The controller's part of a broker's configuration, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.common.config.config_table import ConfigTable
from signalbox.metadata.entries.feature_levels import SUPPORTED_FEATURES, LevelRanges


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Kafka's keys in Python's spelling; `config_rows.py` documents them. `first_housekeeping_s`: from the begin of a
    controller epoch to the first check of the leader balance (a constant in Kafka). `forwarded_response_ms`: how long a
    broker may retry a forwarded request (twice request.timeout.ms). `inter_broker_listener` is the resolved name.
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
