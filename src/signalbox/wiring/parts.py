"""The parts list of a node: who is built from what. Nothing here decides; nothing is started here but recovery."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from signalbox.broker.advertised_versions import AdvertisedVersions
from signalbox.broker.audit_rollups import AuditRollups
from signalbox.broker.audit_trail import AuditTrail
from signalbox.broker.config_description import ConfigDescription
from signalbox.broker.forwarding import EnvelopeForwarder
from signalbox.broker.forwarding_metrics import ForwardingMetrics
from signalbox.broker.metric_registry import MetricRegistry
from signalbox.broker.misroutes import MisrouteLog
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.request_metrics import RequestMetrics
from signalbox.broker.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import build_route_table
from signalbox.broker.topic_creation import TopicCreationSettings, TopicCreator, TopicShape
from signalbox.client.client_settings import ClientSettings
from signalbox.client.connection_settings import ConnectionSecurity
from signalbox.client.controller_channel import ControllerChannel
from signalbox.client.death_probe import DeathProbe
from signalbox.client.node import Address
from signalbox.client.peer_channels import PeerChannels
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.clock import Clock
from signalbox.common.config_table import ConfigFault
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.ids import new_uuid
from signalbox.common.metrics import MetricName
from signalbox.controller.decision import Inputs
from signalbox.controller.runtime import Controller
from signalbox.controller.runtime import Neighbours as ControllerNeighbours
from signalbox.controller.settings import ControllerSettings
from signalbox.coordinator.config_rows import offsets_topic_configs
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.opening import open_group_coordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.registration_keeper import RegistrationKeeper
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.listener_security import build_security
from signalbox.network.network_settings import read_network_settings
from signalbox.network.ports import NetworkPorts
from signalbox.network.socket_server import SocketServer
from signalbox.replication.config_rows import replication_config
from signalbox.replication.leader_channel import ReconnectingChannels
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.replication.replica_parts import Engine
from signalbox.replication.replica_parts import Neighbours as ReplicaNeighbours
from signalbox.security.principal import DefaultPrincipalBuilder, KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.security.sasl.scram import NoCredentials
from signalbox.storage.background import ThreadBackground
from signalbox.storage.config_rows import topic_defaults
from signalbox.storage.file_system import RealFileSystem
from signalbox.storage.log_manager import LogManager
from signalbox.transport.data_loop import DataLoop
from signalbox.wiring.audit_delivery import TopicDelivery
from signalbox.wiring.authorizers import build_authorizer
from signalbox.wiring.cluster_view import CachedClusterView
from signalbox.wiring.configuration import NODE_CONFIG, NodeConfig
from signalbox.wiring.connection_audit import AuditingWatcher
from signalbox.wiring.control_requests import ControlRequests
from signalbox.wiring.controller_lookup import StoredControllerLookup
from signalbox.wiring.controller_requests import ChannelAlterPartition, ChannelVersions
from signalbox.wiring.coordinator_log import OFFSETS_TOPIC, OffsetsLeadership, ReplicatedOffsetsLog
from signalbox.wiring.handler_table import HandlerParts, build_handlers
from signalbox.wiring.leader_channels import LeaderConnector
from signalbox.wiring.metrics_page import MetricsPage
from signalbox.wiring.outbound import connection_settings, outbound_security
from signalbox.wiring.own_epochs import OwnEpochs
from signalbox.wiring.served_versions import RouteGate
from signalbox.wiring.topic_configs import ConfigValuesView, TopicConfigView


class ConfigRefused(RuntimeError):
    """What could only be seen wrong with the files at hand (keys, certificates, passwords): all faults at once."""

    def __init__(self, faults: list[ConfigFault]) -> None:
        super().__init__("\n".join(map(str, faults)))


@dataclass(slots=True, kw_only=True)
class NodeParts:
    """What a running node consists of."""

    cluster_id: str
    epochs: OwnEpochs
    metrics: MetricRegistry
    data_loop: DataLoop
    cache: MetadataCache
    repository: ConfigRepository
    logs: LogManager
    keeper: RegistrationKeeper
    lookup: StoredControllerLookup
    shutdown_lookup: StoredControllerLookup
    channel: ControllerChannel
    shutdown_channel: ControllerChannel
    peers: PeerChannels
    controller: Controller
    replicas: ReplicaManager
    coordinator: GroupCoordinator
    router: Router
    server: SocketServer
    audit: AuditTrail
    audit_delivery: TopicDelivery
    rollups: AuditRollups
    forwarding: ForwardingMetrics
    misroutes: MisrouteLog
    metrics_page: MetricsPage | None

    async def stop(self) -> None:
        """End everything but the store, from the outside in."""
        await self.server.stop_accepting()
        await self.controller.stop()
        await self.coordinator.stop()
        await self.keeper.stop()
        await self.lookup.stop()
        await self.shutdown_lookup.stop()
        await self.channel.close()
        await self.shutdown_channel.close()
        await self.peers.close()
        await self.server.stop()
        self.replicas.close()
        self.logs.close(self.epochs.broker_epoch)
        await self.repository.stop()
        if self.metrics_page is not None:
            await self.metrics_page.stop()


async def build_parts(
    config: NodeConfig, store: MetadataStore, cluster_id: str, clock: Clock, fail: Callable[[str], None]
) -> NodeParts:
    """Build and connect. `fail` is told what the node cannot live with. ConfigRefused, KafkaError, OSError."""
    loop = asyncio.get_running_loop()
    node_id, table = config.node_id, config.listeners
    network_settings, faults = read_network_settings(config.given, [row.name for row in table])
    guards, more = build_security(table, network_settings, NoCredentials())
    faults += more
    inter_broker_security, more = outbound_security(
        table.inter_broker_listener_name, table.inter_broker_security_protocol, network_settings
    )
    faults += more
    control_name = table.control_plane_listener_name
    control_security = inter_broker_security
    if control_name is not None:
        control_security, more = outbound_security(
            control_name, table.security_protocol_of(control_name) or SecurityProtocol.PLAINTEXT, network_settings
        )
        faults += more
    authorizer, more = build_authorizer(config)
    faults += more
    if faults:
        raise ConfigRefused(faults)
    inter_broker = connection_settings(node_id, inter_broker_security, config.values)
    control = connection_settings(node_id, control_security, config.values)

    metrics = MetricRegistry()
    epochs = OwnEpochs(node_id)
    cache = MetadataCache()
    audit = AuditTrail(node_id, clock, metrics)
    rollups = AuditRollups(audit, clock)
    misroutes = MisrouteLog(metrics, audit, clock)
    repository = ConfigRepository(store, clock)
    await repository.start()
    configs = TopicConfigView(repository, topic_defaults(config.values))
    data_loop = DataLoop(loop, config["data.plane.slice.us"])

    logs = LogManager(
        config["log.dirs"] or [config["log.dir"]],
        RealFileSystem(),
        clock,
        ThreadBackground(loop.call_soon_threadsafe),
        lambda directory: _log_directory_failed(replicas, fail, logs),
    )
    logs.start(cluster_id, node_id, configs.log_config)

    privileged = table.privileged_listener_name
    lookup = StoredControllerLookup(store, table.inter_broker_listener_name, lambda r: r.privileged_listener)
    channel = ControllerChannel(lookup, cluster_id, control if privileged == control_name else inter_broker)
    lookup.on_change = channel.controller_changed
    channel.expose(metrics, "forwarding")
    shutdown_lookup = StoredControllerLookup(
        store, table.inter_broker_listener_name, lambda r: r.control_plane_listener or r.privileged_listener
    )
    shutdown_channel = ControllerChannel(shutdown_lookup, cluster_id, control if control_name else inter_broker)
    shutdown_lookup.on_change = shutdown_channel.controller_changed

    peers = PeerChannels(
        cluster_id, control, metrics, lambda broker_id, failure: controller.broker_connection_lost(broker_id)
    )
    controller = Controller(
        node_id,
        store,
        ControllerNeighbours(peers, cache, DeathProbe()),
        Inputs(_controller_settings(config), _draw, new_uuid),
        clock,
    )
    metrics.gauge(
        MetricName("kafka.controller", "KafkaController", "ActiveControllerCount"), lambda: int(controller.is_active)
    )
    leadership = OffsetsLeadership()
    engine = Engine(clock, loop, data_loop.at_turn_end)
    connector = LeaderConnector(data_loop, cache, table.inter_broker_listener_name, cluster_id, inter_broker)
    replicas = ReplicaManager(
        logs,
        ReplicaNeighbours(
            node_id,
            lambda: epochs.broker_epoch,
            CachedClusterView(cache),
            configs,
            ChannelAlterPartition(channel, config["request.timeout.ms"]),
            ReconnectingChannels(connector),
            [leadership],
        ),
        engine,
        replication_config(dict(config.values)),
    )
    repository.subscribe(partial(_topic_config_changed, replicas))
    coordinator = leadership.coordinator = _coordinator(config, replicas, clock, metrics)

    requests_context = RequestContext(
        f"broker-{node_id}",
        table.inter_broker_listener_name,
        table.inter_broker_security_protocol,
        "127.0.0.1",
        b"\x7f\x00\x00\x01",
        principal=KafkaPrincipal("User", f"broker-{node_id}"),
    )
    serde = DefaultPrincipalBuilder()
    creation = TopicCreator(controller, channel, channel, serde, requests_context, _creation_settings(config))
    forwarding = ForwardingMetrics(metrics)
    observer = AuditingObserver(RequestMetrics(metrics), rollups, audit)
    router = Router(
        controller,
        EnvelopeForwarder(channel, serde, forwarding, config["request.timeout.ms"]),
        observer,
        clock,
    )
    advertised = AdvertisedVersions(ChannelVersions(channel), table.control_plane_forced)
    router.install(
        build_route_table(
            build_handlers(
                HandlerParts(
                    cluster_id=cluster_id,
                    epochs=epochs,
                    router=router,
                    cache=cache,
                    controller=controller,
                    replicas=replicas,
                    coordinator=coordinator,
                    authorizer=authorizer,
                    serde=serde,
                    audit=audit,
                    advertised=advertised,
                    misroutes=misroutes,
                    creation=creation,
                    auto_create_topics=config["auto.create.topics.enable"],
                    producer_ids=ProducerIdBlocks(channel, epochs, config["request.timeout.ms"]),
                    description=ConfigDescription(node_id, NODE_CONFIG, config.given, ConfigValuesView(repository)),
                    control=ControlRequests(replicas, cache, coordinator),
                )
            )
        )
    )
    server = SocketServer(
        table,
        network_settings,
        NetworkPorts(
            request_sink=router,
            api_gate=RouteGate(),
            watcher=AuditingWatcher(audit, rollups),
            audit=audit,
            metrics=metrics,
            clock=clock,
            security=guards,
            principal_builder=serde,
        ),
        data_loop,
    )
    audit_delivery = TopicDelivery(
        partial(_audit_client, server, node_id, inter_broker_security), partial(creation.create, AUDIT_TOPIC, None)
    )
    keeper = RegistrationKeeper(store, epochs.registered)
    page = None
    if config["metrics.http.port"] >= 0:
        page = MetricsPage(metrics, config["metrics.http.host"], config["metrics.http.port"])
    return NodeParts(
        cluster_id=cluster_id,
        epochs=epochs,
        metrics=metrics,
        data_loop=data_loop,
        cache=cache,
        repository=repository,
        logs=logs,
        keeper=keeper,
        lookup=lookup,
        shutdown_lookup=shutdown_lookup,
        channel=channel,
        shutdown_channel=shutdown_channel,
        peers=peers,
        controller=controller,
        replicas=replicas,
        coordinator=coordinator,
        router=router,
        server=server,
        audit=audit,
        audit_delivery=audit_delivery,
        rollups=rollups,
        forwarding=forwarding,
        misroutes=misroutes,
        metrics_page=page,
    )


def _log_directory_failed(replicas: ReplicaManager, fail: Callable[[str], None], logs: LogManager) -> None:
    """The directory's partitions go offline; a broker without any working directory cannot go on (KIP-112)."""
    replicas.logs_failed()
    if not any(directory.online for directory in logs.directories):
        fail("no log directory works any more")


def _draw(limit: int) -> int:
    """A random number from 0 to `limit` - 1, for placement."""
    return int.from_bytes(os.urandom(4)) % limit


def _topic_config_changed(replicas: ReplicaManager, entity_path: str, configs: object) -> None:
    kind, _, name = entity_path.partition("/")
    if kind == "topics":
        replicas.update_topic_config(name)


def _controller_settings(config: NodeConfig) -> ControllerSettings:
    return ControllerSettings(
        num_partitions=config["num.partitions"],
        default_replication_factor=config["default.replication.factor"],
        delete_topic_enable=config["delete.topic.enable"],
        unclean_leader_election_enable=config["unclean.leader.election.enable"],
        auto_leader_rebalance_enable=config["auto.leader.rebalance.enable"],
        leader_imbalance_check_interval_seconds=config["leader.imbalance.check.interval.seconds"],
        leader_imbalance_per_broker_percentage=config["leader.imbalance.per.broker.percentage"],
        inter_broker_listener=config.listeners.inter_broker_listener_name,
        static_configs=config.given,
        broker_config_table=NODE_CONFIG,
    )


def _coordinator(
    config: NodeConfig, replicas: ReplicaManager, clock: Clock, metrics: MetricRegistry
) -> GroupCoordinator:
    log = ReplicatedOffsetsLog(replicas, config["offsets.commit.timeout.ms"])
    return open_group_coordinator(log, clock, config.values, metrics)


def _creation_settings(config: NodeConfig) -> TopicCreationSettings:
    return TopicCreationSettings(
        {
            OFFSETS_TOPIC: TopicShape(
                config["offsets.topic.num.partitions"],
                config["offsets.topic.replication.factor"],
                offsets_topic_configs(config["offsets.topic.segment.bytes"]),
            ),
            AUDIT_TOPIC: TopicShape(
                config["audit.topic.partitions"],
                config["audit.topic.replication.factor"],
                {"retention.ms": str(config["audit.topic.retention.ms"])},
            ),
        },
        config["request.timeout.ms"],
    )


def _audit_client(server: SocketServer, node_id: int, security: ConnectionSecurity) -> ClientSettings:
    endpoint = server.table.row(server.table.inter_broker_listener_name).advertised
    assert endpoint is not None
    return ClientSettings(
        bootstrap=[Address(endpoint.host, endpoint.port)],
        client_id=f"signalbox-audit-{node_id}",
        security=security,
    )
