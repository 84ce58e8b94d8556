"""Builds logs, replicas and the group coordinator: the replication components of a node."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

from signalbox.broker.recent_disconnects import RecentDisconnects
from signalbox.client.controller_channel import ControllerChannel
from signalbox.common.clock import Clock
from signalbox.common.metrics import Metrics
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.opening import open_group_coordinator
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entity_config import Configs
from signalbox.metadata.feature_repository import FeatureRepository
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.metadata.salt_secret import SaltSecretRepository
from signalbox.metadata.stored_epochs import StoredEpochs
from signalbox.replication.config_rows import replication_config
from signalbox.replication.leader_channel import ReconnectingChannels
from signalbox.replication.replica_dependencies import Dependencies, Scheduler
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.replication.replica_metrics import measure_replicas
from signalbox.replication.stored_isr import StoredIsr
from signalbox.storage.background import ThreadBackground
from signalbox.storage.file_system import RealFileSystem
from signalbox.storage.log_manager import LogManager
from signalbox.storage.spare_descriptors import SpareDescriptors
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.task_scheduler import TaskScheduler
from signalbox.wiring.broker_to_controller import ChannelAlterPartition
from signalbox.wiring.cluster_view import CachedClusterView
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.coordinator_log import OffsetsLeadership, ReplicatedOffsetsLog
from signalbox.wiring.delegation_tokens import DelegationTokens
from signalbox.wiring.dynamic_broker_config import DynamicBrokerConfig
from signalbox.wiring.leader_channels import LeaderConnector
from signalbox.wiring.log_dir_failures import LogDirFailures
from signalbox.wiring.own_epochs import OwnEpochs
from signalbox.wiring.security_config import SecurityConfig
from signalbox.wiring.stored_users import StoredUsers
from signalbox.wiring.topic_configs import TopicConfigView

_TOPICS = "topics/"


@dataclass(frozen=True, slots=True)
class BrokerContext:
    """The dependencies of the replication components and of the handlers."""

    config: NodeConfig
    cluster_id: str
    epochs: OwnEpochs
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
    guards: SecurityConfig
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
    vanished: RecentDisconnects
    stored_isr: StoredIsr | None


def build_replica_side(
    around: BrokerContext, log_dir_failures: LogDirFailures, stored_isr: StoredIsr | None = None
) -> ReplicationComponents:
    """Returns the components with logs opened and recovered, and no partition hosted yet. Without `stored_isr` leaders
    send AlterPartition to the controller to change an ISR."""
    config, loop = around.config, asyncio.get_running_loop()
    configs = TopicConfigView(around.repository, around.dynamic)
    spare = SpareDescriptors()
    logs = LogManager(
        config["log.dirs"] or [config["log.dir"]],
        RealFileSystem(spare),
        around.clock,
        ThreadBackground(loop.call_soon_threadsafe),
        log_dir_failures,
        around.metrics,
    )
    leadership = OffsetsLeadership()
    vanished = RecentDisconnects(around.cache, around.clock)
    listeners_of = around.peer_listeners.of
    connector = LeaderConnector(around.data_loop, around.cache, listeners_of, around.cluster_id, around.guards)
    replicas = ReplicaManager(
        logs,
        Dependencies(
            config.node_id,
            lambda: around.epochs.broker_epoch,
            CachedClusterView(around.cache),
            configs,
            stored_isr or ChannelAlterPartition(around.channel, config["request.timeout.ms"]),
            ReconnectingChannels(connector, vanished.connection_lost),
            [leadership],
        ),
        Scheduler(
            around.clock,
            loop,
            around.data_loop.at_turn_end,
            around.scheduler.run,
            ThreadBackground(loop.call_soon_threadsafe, "signalbox-unpack"),
        ),
        replication_config(around.dynamic.values),
    )
    measure_replicas(around.metrics, replicas)
    log_dir_failures.replicas, log_dir_failures.logs = replicas, logs
    logs.start(around.cluster_id, config.node_id, configs.log_config)
    replicas.throttles.apply_rates(around.dynamic.values)
    for entity_path, found in around.repository.entities().items():
        if entity_path.startswith(_TOPICS):
            replicas.throttles.apply_topic(entity_path.removeprefix(_TOPICS), found)
    around.repository.subscribe(partial(_config_changed, replicas, around.dynamic))
    # Twice the coordinator runtime's own deadline: the runtime times out first and knows that the batch may still
    # commit.
    offsets_log = ReplicatedOffsetsLog(replicas, 2 * config["offsets.commit.timeout.ms"])
    coordinator = open_group_coordinator(offsets_log, around.clock, config.values, around.metrics)
    leadership.coordinator = coordinator
    return ReplicationComponents(logs, spare, replicas, coordinator, log_dir_failures, vanished, stored_isr)


def _config_changed(replicas: ReplicaManager, dynamic: DynamicBrokerConfig, entity_path: str, configs: Configs) -> None:
    if entity_path.startswith(_TOPICS):
        topic = entity_path.removeprefix(_TOPICS)
        replicas.update_topic_config(topic)
        replicas.throttles.apply_topic(topic, configs)
    elif dynamic.is_set_by(entity_path):
        replicas.throttles.apply_rates(dynamic.values)
        replicas.update_topic_defaults()
        replicas.fetchers.resize(replication_config(dynamic.values).fetchers_per_leader)
