"""Builds the group coordinator from its dependencies: log, clock, scheduler, configuration, metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from signalbox.common.clock import Clock
from signalbox.common.config.config_table import Value
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.config_rows import GroupSettings, RuntimeSettings
from signalbox.coordinator.group.group_records import GroupRecordSerde
from signalbox.coordinator.group.group_shard import GroupShard
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.group_metrics import register_group_metrics
from signalbox.coordinator.ports import CoordinatorLog, Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType, new_member_suffix


def open_group_coordinator(
    log: CoordinatorLog, clock: Clock, scheduler: TaskScheduler, values: Mapping[str, Value], metrics: Metrics
) -> GroupCoordinator:
    """`values` = the typed values of `COORDINATOR_CONFIG`. It coordinates nothing before its first election."""
    settings = GroupSettings.read(values)

    def make_shard(partition: int, timer: Timer) -> GroupShard:
        return GroupShard(partition, timer, clock, settings, new_member_suffix)

    shards = ShardType(make_shard, GroupRecordSerde())
    runtime = CoordinatorRuntime(log, shards, clock, scheduler, RuntimeSettings.read(values))
    register_group_metrics(metrics, runtime.active_shards)
    return GroupCoordinator(runtime, settings, cast(int, values["offsets.topic.num.partitions"]))
