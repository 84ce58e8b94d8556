"""Group metrics under Kafka's names (`kafka.coordinator.group:type=GroupMetadataManager`), counted at each scrape."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.metrics import MetricName, Metrics
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.group_shard import GroupShard

GROUP, TYPE = "kafka.coordinator.group", "GroupMetadataManager"


def register_group_metrics(metrics: Metrics, active_shards: Callable[[], list[GroupShard]]) -> None:
    """Gauges over the partitions that this broker coordinates."""

    def count_in(state: str) -> Callable[[], float]:
        return lambda: sum(shard.groups.count_by_state()[state] for shard in active_shards())

    def gauge(name: str, read: Callable[[], float]) -> None:
        metrics.gauge(MetricName(GROUP, TYPE, name), read)

    gauge("NumGroups", lambda: sum(len(shard.groups) for shard in active_shards()))
    gauge("NumOffsets", lambda: sum(shard.offsets.count for shard in active_shards()))
    for state in GroupState:
        gauge(f"NumGroups{state.value}", count_in(state.value))
