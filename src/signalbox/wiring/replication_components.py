"""Builds logs, replicas and the group coordinator: the replication components of a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.routing.recent_disconnects import RecentDisconnects
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.config.config_table import Value
from signalbox.common.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.metadata_store import is_on_zookeeper
from signalbox.coordinator.config_rows import GROUP_RUNTIME_KEYS, GroupSettings, RuntimeSettings
from signalbox.coordinator.group.group_records import GroupRecordSerde
from signalbox.coordinator.group.group_shard import GroupShard, register_group_metrics
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.ports import CoordinatorLog, Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType, new_member_suffix
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.replication.config_rows import replication_config
from signalbox.replication.follower.leader_channel import ReconnectingChannels
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.replication.replica_metrics import measure_replicas
from signalbox.server.log_dir_failures import LogDirFailures
from signalbox.server.topic_configs import TopicConfigView
from signalbox.storage.directories.meta_properties import OF_KRAFT, OF_ZOOKEEPER
from signalbox.storage.files.background import ThreadBackground
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.spare_descriptors import SpareDescriptors
from signalbox.storage.log_manager import LogManager
from signalbox.wiring.coordinator_log import CoordinatorLeadership, ReplicatedCoordinatorLog
from signalbox.wiring.leader_channels import LeaderConnector
from signalbox.wiring.node_context import NodeContext
from signalbox.wiring.transaction_components import TransactionComponents, build_transactions

_TOPICS = "topics/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationComponents:
    """`start_logs` opens and recovers all logs."""

    logs: LogManager
    spare_descriptors: SpareDescriptors
    replicas: ReplicaManager
    coordinator: GroupCoordinator
    producer_ids: ProducerIdBlocks
    transactions: TransactionComponents
    log_dir_failures: LogDirFailures
    recent_disconnects: RecentDisconnects
    start_logs: Callable[[], None]


def build_replication(
    context: NodeContext, channel: ControllerChannel, peer_listeners: PeerListeners
) -> ReplicationComponents:
    """Returns the components, of which none has started."""
    config, loop = context.config, asyncio.get_running_loop()
    configs = TopicConfigView(context.repository, context.dynamic)
    spare = SpareDescriptors()
    log_dir_failures = LogDirFailures(context.store, config.node_id, context.runtime.fail)
    deadlines = Deadlines(context.clock, loop, context.scheduler.slice_s)
    logs = _log_manager(context, spare, log_dir_failures, deadlines)
    leadership = CoordinatorLeadership(OFFSETS_TOPIC)
    transaction_leadership = CoordinatorLeadership(TRANSACTIONS_TOPIC)
    recent_disconnects = RecentDisconnects(context.cache, context.clock)
    listeners_of = peer_listeners.of
    connector = LeaderConnector(context.data_loop, context.cache, listeners_of, context.cluster_id, context.security)
    replicas = ReplicaManager(
        logs,
        Dependencies(
            config.node_id,
            lambda: context.epochs.broker_epoch,
            context.cache,
            configs,
            ChannelAlterPartition(channel, config["request.timeout.ms"]),
            ReconnectingChannels(connector, recent_disconnects.connection_lost),
            [leadership, transaction_leadership],
        ),
        Scheduler(
            deadlines,
            context.data_loop.at_iteration_end,
            context.scheduler.run,
            ThreadBackground(loop.call_soon_threadsafe, "signalbox-unpack"),
            context.data_loop.page_cache,
        ),
        replication_config(context.dynamic.values),
    )
    max_transaction_timeout_ms: int = config["transaction.max.timeout.ms"]
    measure_replicas(context.metrics, replicas, max_transaction_timeout_ms)
    log_dir_failures.replicas, log_dir_failures.logs = replicas, logs
    _follow_configs(context, replicas)
    # Twice the coordinator runtime's own deadline: the runtime times out first and knows that the batch may still
    # commit.
    offsets_log = ReplicatedCoordinatorLog(replicas, OFFSETS_TOPIC, 2 * config["offsets.commit.timeout.ms"])
    coordinator = open_group_coordinator(
        offsets_log,
        replicas.scheduler.deadlines,
        context.scheduler,
        config.values,
        context.metrics,
        context.cache,
    )
    leadership.coordinator = coordinator
    producer_ids = ProducerIdBlocks(channel, context.epochs, config["request.timeout.ms"])
    transactions = build_transactions(context, replicas, producer_ids, connector)
    transaction_leadership.coordinator = transactions.coordinator
    return ReplicationComponents(
        logs=logs,
        spare_descriptors=spare,
        replicas=replicas,
        coordinator=coordinator,
        producer_ids=producer_ids,
        transactions=transactions,
        log_dir_failures=log_dir_failures,
        recent_disconnects=recent_disconnects,
        start_logs=_start_of_logs(context, logs, configs),
    )


def _log_manager(
    context: NodeContext, spare: SpareDescriptors, failures: LogDirFailures, deadlines: Deadlines
) -> LogManager:
    config, loop = context.config, asyncio.get_running_loop()
    logs = LogManager(
        config["log.dirs"] or [config["log.dir"]],
        RealFileSystem(spare),
        context.clock,
        ThreadBackground(loop.call_soon_threadsafe),
        failures,
        context.metrics,
    )
    logs.moves.throttle.call_later = deadlines.add
    return logs


def _start_of_logs(context: NodeContext, logs: LogManager, configs: TopicConfigView) -> Callable[[], None]:
    config = context.config
    version = OF_ZOOKEEPER if is_on_zookeeper(config.values) else OF_KRAFT
    return partial(logs.start, context.cluster_id, config.node_id, configs.log_config, meta_version=version)


def _follow_configs(context: NodeContext, replicas: ReplicaManager) -> None:
    """Apply the throttles that are configured now, and every change from then on."""
    replicas.throttles.apply_rates(context.dynamic.values)
    for entity_path, entity_configs in context.repository.entities().items():
        if entity_path.startswith(_TOPICS):
            replicas.throttles.apply_topic(entity_path.removeprefix(_TOPICS), entity_configs)
    context.repository.subscribe(partial(_config_changed, replicas, context.dynamic))


def _config_changed(replicas: ReplicaManager, dynamic: DynamicBrokerConfig, entity_path: str, configs: Configs) -> None:
    """Yields."""
    if entity_path.startswith(_TOPICS):
        topic = entity_path.removeprefix(_TOPICS)
        replicas.update_topic_config(topic)
        replicas.throttles.apply_topic(topic, configs)
    elif dynamic.is_set_by(entity_path):
        replicas.throttles.apply_rates(dynamic.values)
        replicas.update_topic_defaults()
        replicas.fetchers.resize(replication_config(dynamic.values).fetchers_per_leader)


class ChannelAlterPartition:
    """Implements `replication/ports.AlterPartitionSender`."""

    def __init__(self, channel: ControllerChannel, request_timeout_ms: int) -> None:
        self._channel = channel
        self._request_timeout_ms = request_timeout_ms

    def send(
        self, request: AlterPartitionRequest, on_response: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        def take(done: asyncio.Future[Any]) -> None:
            failure = None if done.cancelled() else done.exception()
            if done.cancelled():
                on_response(Error.NETWORK_EXCEPTION)
            elif failure is not None:
                on_response(failure.error if isinstance(failure, KafkaError) else Error.UNKNOWN_SERVER_ERROR)
            else:
                on_response(done.result())

        self._channel.submit(request, self._request_timeout_ms).add_done_callback(take)


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
