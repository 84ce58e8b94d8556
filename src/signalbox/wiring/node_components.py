"""Builds the components of a node. It decides nothing, and starts nothing but recovery.

Order: security, the audit trail, metadata, the channels to the controller, the controller, the replication
components, and at last the router with its handlers behind the sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from signalbox.broker.api_request import as_future
from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.configs.config_description import ConfigDescription
from signalbox.broker.configs.new_topic_configs import NewTopicConfigs
from signalbox.broker.epoch_checks import EpochChecks
from signalbox.broker.fast_path.fast_path import FastPath
from signalbox.broker.forwarding.filtering_forwarder import FilteringForwarder
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder
from signalbox.broker.forwarding.forwarding_ids import ForwardingIds
from signalbox.broker.forwarding.forwarding_metrics import ForwardingMetrics
from signalbox.broker.forwarding.version_ceilings import parse_ceilings
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.quotas.throttling import Throttling
from signalbox.broker.router import Router
from signalbox.broker.routes import build_route_table
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.client.inter_broker.peer_channels import PeerChannels
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.clock import Clock
from signalbox.common.metrics import Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.authorizers import open_acl_repository, with_broker_principal_rule
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.delegation_tokens import DelegationTokens, token_secret
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.internal_topic_settings import creation_settings
from signalbox.configuration.policies import audited
from signalbox.configuration.quotas import follow_address_rates, follow_quotas
from signalbox.configuration.security_config import SecurityConfig, read_security_config
from signalbox.controller.runtime import Controller
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.registration import VERSION_WITH_FEATURES, VERSION_WITHOUT_FEATURES
from signalbox.metadata.entries.salt_secret import SaltSecretRepository
from signalbox.metadata.layout import controller_id_path
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.ports import NetworkPorts
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.security.sasl.salts import Salts
from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.audit_topic_locator import own_client_settings
from signalbox.server.connection_audit import ConnectionCloseObserver
from signalbox.server.listeners.reload import ListenerReload
from signalbox.server.local_epochs import LocalEpochs
from signalbox.server.log_dir_failures import LogDirFailures
from signalbox.server.metrics.metrics_page import MetricsPage
from signalbox.server.served_versions import RouteGate
from signalbox.server.store.finalized_features import follow_features
from signalbox.server.stored_users import CurrentConfigs, StoredUsers
from signalbox.server.telemetry import Telemetry
from signalbox.server.topic_configs import ConfigValuesView
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.poll_gaps import MeasuredLoop
from signalbox.transport.tls.handshake_threads import HandshakeThreads
from signalbox.wiring.broker_to_controller import ChannelVersions
from signalbox.wiring.controller_channels import ControllerChannels, build_controller_channels
from signalbox.wiring.controller_components import build_controller
from signalbox.wiring.fast_path import build_fast_path
from signalbox.wiring.handler_table import HandlerDependencies, build_handlers
from signalbox.wiring.live_listeners import build_live_listeners
from signalbox.wiring.replication_components import BrokerContext, ReplicationComponents, build_replication
from signalbox.wiring.rolling_upgrade import (
    RollingUpgrade,
    build_rolling_upgrade,
    inter_broker_protocol,
)


@dataclass(slots=True, kw_only=True)
class NodeComponents:
    """The components of a running node."""

    context: BrokerContext
    telemetry: Telemetry
    controller_channels: ControllerChannels
    controller: Controller
    peers: PeerChannels
    data: ReplicationComponents
    router: Router
    server: SocketServer
    registrar: BrokerRegistrar
    controller_registrar: BrokerRegistrar
    reload: ListenerReload
    audit_delivery: TopicDelivery
    metrics_page: MetricsPage | None

    @property
    def cluster_id(self) -> str:
        return self.context.cluster_id

    @property
    def epochs(self) -> LocalEpochs:
        return self.context.epochs

    @property
    def cache(self) -> MetadataCache:
        return self.context.cache

    @property
    def scheduler(self) -> TaskScheduler:
        return self.context.scheduler

    @property
    def data_loop(self) -> DataLoop:
        return self.context.data_loop

    async def stop(self) -> None:
        """Stop everything but the store, the listeners first."""
        await self.server.stop_accepting()
        await self.reload.stop()
        self.router.close()
        await self.controller.stop()
        await as_future(self.data.coordinator.stop())
        await self.data.log_dir_failures.stop()
        await self.controller_registrar.stop()
        await self.registrar.stop()
        await self.controller_channels.stop()
        await self.peers.close()
        await self.server.stop()
        self.data.replicas.close()
        self.data.logs.close(self.epochs.broker_epoch)
        self.data.spare_descriptors.close()
        await self.context.repository.stop()
        await self.context.features.stop()
        await self.context.salt_secret.stop()
        await self.context.peer_listeners.stop()
        if self.context.acls is not None:
            await self.context.acls.stop()
        if self.context.tokens is not None:
            await self.context.tokens.stop()
        if self.metrics_page is not None:
            await self.metrics_page.stop()


async def build_node(
    config: NodeConfig, store: MetadataStore, cluster_id: str, clock: Clock, scheduler: TaskScheduler,
    fail: Callable[[str], None],
) -> NodeComponents:  # fmt: skip
    """Build and connect. `fail` is called with the reason of a fatal failure. StartError, KafkaError, OSError."""
    threads, telemetry = HandshakeThreads(), Telemetry.begin(config, clock, scheduler)
    repository = ConfigRepository(store, clock)
    await repository.start()
    dynamic = DynamicBrokerConfig(repository, config.node_id, NODE_CONFIG, config.values)
    secret, salts = token_secret(config.values), Salts()
    salt_secret = SaltSecretRepository(store, salts.use)
    await salt_secret.start()
    tokens = None if secret is None else DelegationTokens(store, clock, scheduler, secret, salts)
    if tokens is not None:
        await tokens.start()
    users = StoredUsers(repository, salts, tokens)
    security = read_security_config(config, users, dynamic.changed_live(), threads.control)
    acls = open_acl_repository(store, clock, scheduler, security.authorizer)
    if acls is not None:
        await acls.start()
    cache = MetadataCache()
    features = follow_features(store, cache, fail)
    await features.start()
    controller_channels = build_controller_channels(
        config.listeners,
        store,
        cluster_id,
        security,
        telemetry.metrics,
        lambda node_id: controller.on_controller_connection_refused(node_id),
    )
    controller, peers = build_controller(
        config,
        store,
        cluster_id,
        cache,
        security,
        audited(security.policies, telemetry.audit),
        telemetry.metrics,
        clock,
        scheduler,
    )
    context = BrokerContext(
        config=config,
        cluster_id=cluster_id,
        epochs=LocalEpochs(config.node_id),
        cache=cache,
        repository=repository,
        acls=acls,
        features=features,
        stored_epochs=StoredEpochs(store),
        peer_listeners=PeerListeners(store, config.listeners.inter_broker_listener_name),
        tokens=tokens,
        salt_secret=salt_secret,
        users=users,
        dynamic=dynamic,
        security=security,
        channel=controller_channels.channel,
        data_loop=build_data_loop(config, telemetry.metrics, threads),
        scheduler=scheduler,
        metrics=telemetry.metrics,
        clock=clock,
    )
    data = build_replication(context, LogDirFailures(store, config.node_id, fail))
    rolling_upgrade = build_rolling_upgrade(
        config, store, controller, cache, audited(security.policies, telemetry.audit), clock
    )
    creation = TopicCreator(
        rolling_upgrade.creation,
        controller_channels.channel,
        security.principals.serde,
        _broker_context(config),
        creation_settings(config),
    )
    own = BrokerConfigValidator(config.node_id, NODE_CONFIG, ConfigValuesView(repository), repository.catch_up)
    router, fast_path = _router(context, telemetry, controller, rolling_upgrade, data, creation, own)
    server = build_server(security, telemetry, router, fast_path, repository, clock, context.data_loop)
    if tokens is not None:
        tokens.on_changed = server.tokens_changed
    version = VERSION_WITH_FEATURES if inter_broker_protocol(config).registers_features else VERSION_WITHOUT_FEATURES
    registrar = BrokerRegistrar(store, context.epochs.registered, registration_version=version)
    page = None
    if config["signalbox.metrics.http.port"] >= 0:
        page = MetricsPage(
            telemetry.metrics, config["signalbox.metrics.http.host"], config["signalbox.metrics.http.port"], scheduler
        )
    return NodeComponents(
        context=context,
        telemetry=telemetry,
        controller_channels=controller_channels,
        controller=controller,
        peers=peers,
        data=data,
        router=router,
        server=server,
        registrar=registrar,
        controller_registrar=BrokerRegistrar(
            store, lambda epoch: None, path_of=controller_id_path, renews_session=False
        ),
        reload=build_live_listeners(context, server, registrar, own, data.logs.directories),
        audit_delivery=_audit_delivery(config, server, security, creation, scheduler),
        metrics_page=page,
    )


def build_data_loop(config: NodeConfig, metrics: Metrics, threads: HandshakeThreads) -> DataLoop:
    """Returns the loop that runs the connections of data listeners."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, MeasuredLoop):
        loop.poll_gaps.register(metrics)
    return DataLoop(loop, config["signalbox.event.loop.slice.us"], threads)


def _router(
    context: BrokerContext,
    telemetry: Telemetry,
    controller: Controller,
    rolling_upgrade: RollingUpgrade,
    data: ReplicationComponents,
    creation: TopicCreator,
    own: BrokerConfigValidator,
) -> tuple[Router, FastPath]:
    """Returns the router, and the fast path in front of it."""
    config, channel, serde = context.config, context.channel, context.security.principals.serde
    ruled = with_broker_principal_rule(config, context.security.authorizer)
    ceilings = parse_ceilings(config["signalbox.forwarded.api.versions.max"])
    forwarder = _forwarder(context, telemetry)
    router = Router(
        controller,
        rolling_upgrade.local_requests or forwarder,
        AuditingObserver(telemetry.requests, telemetry.rollups, telemetry.audit),
        context.clock,
        context.scheduler,
    )
    quotas = follow_quotas(config, context.repository, context.clock)
    throttling = Throttling(quotas, context.clock.monotonic, data.replicas.withdraw_fetch)
    handlers = build_handlers(
        HandlerDependencies(
            cluster_id=context.cluster_id,
            epochs=context.epochs,
            router=router,
            cache=context.cache,
            controller=controller,
            changes=rolling_upgrade.changes,
            exposed=rolling_upgrade.exposed,
            replicas=data.replicas,
            peer_listeners=context.peer_listeners,
            recent_disconnects=data.recent_disconnects,
            software=telemetry.software,
            coordinator=data.coordinator,
            authorizer=ruled,
            serde=serde,
            audit=telemetry.audit,
            advertised=AdvertisedVersions(
                ChannelVersions(channel) if rolling_upgrade.forwards else None,
                config.listeners.control_plane_forced,
                ceilings,
                context.peer_listeners,
            ),
            misroutes=telemetry.misroutes,
            creation=creation,
            auto_create_topics=config["auto.create.topics.enable"],
            described_partitions=config["max.request.partition.size.limit"],
            producer_ids=ProducerIdBlocks(channel, context.epochs, config["request.timeout.ms"]),
            description=ConfigDescription(
                config.node_id, NODE_CONFIG, config.originals, ConfigValuesView(context.repository)
            ),
            broker_config_validator=own,
            forwarder=forwarder,
            acls=context.acls,
            tokens=context.tokens,
            token_secret=context.tokens.secret if context.tokens is not None else None,
            stored=CurrentConfigs(context.repository),
            epoch_checks=EpochChecks(context.epochs, context.stored_epochs, data.replicas.leader_epoch, context.clock),
            new_topic_configs=NewTopicConfigs(context.repository.load),
            scheduler=context.scheduler,
            throttling=throttling,
            default_partitions=config["num.partitions"],
        )
    )
    routes = build_route_table(handlers, ceilings=ceilings)
    router.install(routes, throttling)
    if rolling_upgrade.local_requests is not None:
        rolling_upgrade.local_requests.install(routes)
    counters = (telemetry.requests, telemetry.rollups)
    authorizer = context.security.authorizer  # without F15's rule: the fast path has no changes of metadata
    return router, build_fast_path(handlers, data.replicas, context.cache, authorizer, context.clock, counters, quotas)


def _forwarder(context: BrokerContext, telemetry: Telemetry) -> FilteringForwarder:
    """Returns the forwarder to the active controller, behind this broker's own authorization."""
    metrics = ForwardingMetrics(telemetry.metrics, context.clock, lambda: context.cache.image.controller_id)
    serde, timeout_ms = context.security.principals.serde, context.config["request.timeout.ms"]
    envelopes = EnvelopeForwarder(context.channel, serde, metrics, timeout_ms, ForwardingIds(context.epochs))
    return FilteringForwarder(envelopes, context.scheduler)


def build_server(
    security: SecurityConfig, telemetry: Telemetry, router: Router, fast_path: FastPath | None,
    repository: ConfigRepository, clock: Clock, data_loop: DataLoop,
) -> SocketServer:  # fmt: skip
    """Returns the server of the sockets in front of the router, not yet bound."""
    ports = NetworkPorts(
        request_sink=router,
        api_gate=RouteGate(),
        fast_path=fast_path,
        watcher=ConnectionCloseObserver(telemetry.rollups, telemetry.software),
        audit=telemetry.audit,
        metrics=telemetry.metrics,
        clock=clock,
        security=security.listeners.security,
        principal_builder=security.principals,
        address_rates=follow_address_rates(repository, clock),
    )
    return SocketServer(security.listeners.table, security.listeners.network, ports, data_loop)


def _broker_context(config: NodeConfig) -> RequestContext:
    """Request context of the broker itself: topics that it creates on its own are created under this principal."""
    table = config.listeners
    name = f"broker-{config.node_id}"
    return RequestContext(
        name,
        table.inter_broker_listener_name,
        table.inter_broker_security_protocol,
        "127.0.0.1",
        b"\x7f\x00\x00\x01",
        principal=KafkaPrincipal("User", name),
    )


def _audit_delivery(
    config: NodeConfig,
    server: SocketServer,
    security: SecurityConfig,
    creation: TopicCreator,
    scheduler: TaskScheduler,
) -> TopicDelivery:
    return TopicDelivery(
        lambda: own_client_settings(server.table, config.node_id, security.peers),
        partial(creation.create, AUDIT_TOPIC, None),
        scheduler,
        creation_settings(config).internal_topics[AUDIT_TOPIC].configs,
    )
