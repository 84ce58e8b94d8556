"""Builds logs, replicas and the group coordinator: the replication components of a node."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from signalbox.broker.routing.recent_disconnects import RecentDisconnects
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.clock import Clock
from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.delegation_tokens import DelegationTokens
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.security_config import SecurityConfig
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.opening import open_group_coordinator
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.salt_secret import SaltSecretRepository
from signalbox.metadata.feature_repository import FeatureRepository
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.replication.config_rows import replication_config
from signalbox.replication.follower.leader_channel import ReconnectingChannels
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.replication.replica_metrics import measure_replicas
from signalbox.server.local_epochs import LocalEpochs
from signalbox.server.log_dir_failures import LogDirFailures
from signalbox.server.stored_users import StoredUsers
from signalbox.server.topic_configs import TopicConfigView
from signalbox.storage.files.background import ThreadBackground
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.spare_descriptors import SpareDescriptors
from signalbox.storage.log_manager import LogManager
from signalbox.transport.data_loop import DataLoop
from signalbox.wiring.broker_to_controller import ChannelAlterPartition
from signalbox.wiring.cluster_view import CachedClusterView
from signalbox.wiring.coordinator_log import CoordinatorLeadership, ReplicatedCoordinatorLog
from signalbox.wiring.leader_channels import LeaderConnector

_TOPICS = "topics/"


@dataclass(frozen=True, slots=True)
class BrokerContext:
    """The dependencies of the replication components and of the handlers."""

    config: NodeConfig
    cluster_id: str
    epochs: LocalEpochs
    cache: MetadataCache
    repository: ConfigRepository
    acls: AclRepository | None
    features: FeatureRepository
    peer_listeners: PeerListeners
    stored_epochs: StoredEpochs
    tokens: DelegationTokens | None
    salt_secret: SaltSecretRepository
    users: StoredUsers
    dynamic: DynamicBrokerConfig
    security: SecurityConfig
    channel: ControllerChannel
    data_loop: DataLoop
    scheduler: TaskScheduler
    metrics: Metrics
    clock: Clock


@dataclass(frozen=True, slots=True)
class ReplicationComponents:
    logs: LogManager
    spare_descriptors: SpareDescriptors
    replicas: ReplicaManager
    coordinator: GroupCoordinator
    log_dir_failures: LogDirFailures
    recent_disconnects: RecentDisconnects


def build_replication(context: BrokerContext, log_dir_failures: LogDirFailures) -> ReplicationComponents:
    """Returns the components with logs opened and recovered, and no partition hosted yet."""
    config, loop = context.config, asyncio.get_running_loop()
    configs = TopicConfigView(context.repository, context.dynamic)
    spare = SpareDescriptors()
    logs = LogManager(
        config["log.dirs"] or [config["log.dir"]],
        RealFileSystem(spare),
        context.clock,
        ThreadBackground(loop.call_soon_threadsafe),
        log_dir_failures,
        context.metrics,
    )
    leadership = CoordinatorLeadership(OFFSETS_TOPIC)
    recent_disconnects = RecentDisconnects(context.cache, context.clock)
    listeners_of = context.peer_listeners.of
    connector = LeaderConnector(context.data_loop, context.cache, listeners_of, context.cluster_id, context.security)
    replicas = ReplicaManager(
        logs,
        Dependencies(
            config.node_id,
            lambda: context.epochs.broker_epoch,
            CachedClusterView(context.cache),
            configs,
            ChannelAlterPartition(context.channel, config["request.timeout.ms"]),
            ReconnectingChannels(connector, recent_disconnects.connection_lost),
            [leadership],
        ),
        Scheduler(
            Deadlines(context.clock, loop, context.scheduler.slice_s),
            context.data_loop.at_iteration_end,
            context.scheduler.run,
            ThreadBackground(loop.call_soon_threadsafe, "signalbox-unpack"),
        ),
        replication_config(context.dynamic.values),
    )
    measure_replicas(context.metrics, replicas)
    log_dir_failures.replicas, log_dir_failures.logs = replicas, logs
    logs.start(context.cluster_id, config.node_id, configs.log_config)
    replicas.throttles.apply_rates(context.dynamic.values)
    for entity_path, entity_configs in context.repository.entities().items():
        if entity_path.startswith(_TOPICS):
            replicas.throttles.apply_topic(entity_path.removeprefix(_TOPICS), entity_configs)
    context.repository.subscribe(partial(_config_changed, replicas, context.dynamic))
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
    return ReplicationComponents(logs, spare, replicas, coordinator, log_dir_failures, recent_disconnects)


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
