"""Builds the group coordinator from its dependencies: log, deadlines, scheduler, configuration, metrics, metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from signalbox.common.config.config_table import Value
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.coordinator.config_rows import GROUP_RUNTIME_KEYS, GroupSettings, RuntimeSettings
from signalbox.coordinator.group.group_records import GroupRecordSerde
from signalbox.coordinator.group.group_shard import GroupShard
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.group_metrics import register_group_metrics
from signalbox.coordinator.ports import CoordinatorLog, Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType, new_member_suffix
from signalbox.metadata.cache import MetadataCache


def open_group_coordinator(
    log: CoordinatorLog,
    deadlines: Deadlines,
    scheduler: TaskScheduler,
    values: Mapping[str, Value],
    metrics: Metrics,
    cache: MetadataCache,
) -> GroupCoordinator:
    """`values` = the typed values of `COORDINATOR_CONFIG`. It coordinates nothing before its first election."""
    settings = GroupSettings.read(values)

    def make_shard(partition: int, timer: Timer) -> GroupShard:
        return GroupShard(partition, timer, deadlines.clock, settings, new_member_suffix)

    shards = ShardType(make_shard, GroupRecordSerde())
    runtime = CoordinatorRuntime(log, shards, deadlines, scheduler, RuntimeSettings.read(values, GROUP_RUNTIME_KEYS))
    register_group_metrics(metrics, runtime.active_shards)
    return GroupCoordinator(runtime, settings, cast(int, values["offsets.topic.num.partitions"]), cache)
