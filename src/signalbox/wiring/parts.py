"""The parts list of a node: who is built from what. Nothing here decides; nothing is started here but recovery.

Order: who may enter (`guards`), the trail, metadata, the ways to the controller, the controller, the data side, and at
last the router with its handlers behind the sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from signalbox.broker.advertised_versions import AdvertisedVersions
from signalbox.broker.audit_rollups import AuditRollups
from signalbox.broker.audit_trail import AuditTrail
from signalbox.broker.client_software import ClientSoftware
from signalbox.broker.config_description import ConfigDescription
from signalbox.broker.forwarding import EnvelopeForwarder
from signalbox.broker.forwarding_metrics import ForwardingMetrics
from signalbox.broker.forwarding_numbers import ForwardingNumbers
from signalbox.broker.hot_path import HotPath
from signalbox.broker.metric_registry import MetricRegistry
from signalbox.broker.misroutes import MisrouteLog
from signalbox.broker.own_configs import OwnConfigs
from signalbox.broker.partial_forwarding import PartialForwarder
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.request_metrics import RequestMetrics
from signalbox.broker.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import build_route_table
from signalbox.broker.throttling import Throttling
from signalbox.broker.topic_creation import TopicCreator
from signalbox.broker.unforwarded import UnforwardedRequests
from signalbox.broker.version_ceilings import parse_ceilings
from signalbox.client.client_settings import ClientSettings
from signalbox.client.node import Address
from signalbox.client.peer_channels import PeerChannels
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.clock import Clock
from signalbox.common.metrics import Metrics
from signalbox.controller.runtime import Controller
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.layout import controller_id_path
from signalbox.metadata.registration import VERSION_WITH_FEATURES, VERSION_WITHOUT_FEATURES
from signalbox.metadata.registration_keeper import RegistrationKeeper
from signalbox.metadata.salt_secret import SaltSecretRepository
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.ports import NetworkPorts
from signalbox.network.socket_server import SocketServer
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.security.sasl.salts import Salts
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.handshake_threads import HandshakeThreads
from signalbox.transport.long_lane import LongLane
from signalbox.transport.poll_gaps import MeasuredLoop
from signalbox.wiring.audit_delivery import TopicDelivery
from signalbox.wiring.authorizers import keep_acls, with_broker_principal_rule
from signalbox.wiring.broker_to_controller import ChannelVersions
from signalbox.wiring.configuration import NODE_CONFIG, NodeConfig
from signalbox.wiring.connection_audit import ConnectionEnds
from signalbox.wiring.controller_parts import build_controller
from signalbox.wiring.controller_to_broker import ControlRequests
from signalbox.wiring.controller_ways import ControllerWays, build_controller_ways
from signalbox.wiring.delegation_tokens import DelegationTokens, token_secret
from signalbox.wiring.dynamic_broker_config import DynamicBrokerConfig
from signalbox.wiring.finalized_features import follow_features
from signalbox.wiring.guards import Guards, read_guards
from signalbox.wiring.handler_table import HandlerParts, build_handlers
from signalbox.wiring.hot_path import build_hot_path
from signalbox.wiring.listeners.live_listeners import build_live_listeners
from signalbox.wiring.listeners.reload import ListenerReload
from signalbox.wiring.log_dir_failures import LogDirFailures
from signalbox.wiring.metrics_page import MetricsPage
from signalbox.wiring.own_epochs import OwnEpochs
from signalbox.wiring.policies import told
from signalbox.wiring.quotas import follow_address_rates, follow_quotas
from signalbox.wiring.replica_side import ReplicaSide, Surroundings, build_replica_side
from signalbox.wiring.roll_out import NotIntersected, RollOut, build_roll_out, build_stored_isr, inter_broker_protocol
from signalbox.wiring.served_versions import RouteGate
from signalbox.wiring.stored_users import CurrentConfigs, StoredUsers
from signalbox.wiring.topic_configs import ConfigValuesView
from signalbox.wiring.topic_shapes import creation_settings


@dataclass(slots=True, kw_only=True)
class Trail:
    """What this broker tells about itself: metrics and audit."""

    metrics: MetricRegistry
    audit: AuditTrail
    rollups: AuditRollups
    misroutes: MisrouteLog
    requests: RequestMetrics
    software: ClientSoftware

    @classmethod
    def begin(cls, config: NodeConfig, clock: Clock) -> Trail:
        metrics = MetricRegistry()
        audit = AuditTrail(config.node_id, clock, metrics, config["audit.enable"])
        return cls(
            metrics=metrics,
            audit=audit,
            rollups=AuditRollups(audit, clock),
            misroutes=MisrouteLog(metrics, audit, clock),
            requests=RequestMetrics(metrics),
            software=ClientSoftware(metrics),
        )


@dataclass(slots=True, kw_only=True)
class NodeParts:
    """What a running node consists of."""

    around: Surroundings
    trail: Trail
    ways: ControllerWays
    controller: Controller
    peers: PeerChannels
    data: ReplicaSide
    router: Router
    server: SocketServer
    keeper: RegistrationKeeper
    controller_keeper: RegistrationKeeper
    reload: ListenerReload
    audit_delivery: TopicDelivery
    metrics_page: MetricsPage | None

    @property
    def cluster_id(self) -> str:
        return self.around.cluster_id

    @property
    def epochs(self) -> OwnEpochs:
        return self.around.epochs

    @property
    def cache(self) -> MetadataCache:
        return self.around.cache

    @property
    def lane(self) -> LongLane:
        return self.around.lane

    @property
    def data_loop(self) -> DataLoop:
        return self.around.data_loop

    async def stop(self) -> None:
        """End everything but the store, from the outside in."""
        await self.server.stop_accepting()
        await self.reload.stop()
        self.router.close()
        await self.controller.stop()
        await self.data.coordinator.stop()
        await self.data.log_dir_failures.stop()
        await self.controller_keeper.stop()
        await self.keeper.stop()
        await self.ways.stop()
        await self.peers.close()
        await self.server.stop()
        self.data.replicas.close()
        if self.data.stored_isr is not None:
            await self.data.stored_isr.stop()
        self.data.logs.close(self.epochs.broker_epoch)
        await self.around.repository.stop()
        await self.around.features.stop()
        await self.around.salt_secret.stop()
        if self.around.acls is not None:
            await self.around.acls.stop()
        if self.around.tokens is not None:
            await self.around.tokens.stop()
        if self.metrics_page is not None:
            await self.metrics_page.stop()


async def build_parts(
    config: NodeConfig, store: MetadataStore, cluster_id: str, clock: Clock, fail: Callable[[str], None]
) -> NodeParts:
    """Build and connect. `fail` is told what the node cannot live with. StartRefused, KafkaError, OSError."""
    threads = HandshakeThreads()
    trail = Trail.begin(config, clock)
    repository = ConfigRepository(store, clock)
    await repository.start()
    dynamic = DynamicBrokerConfig(repository, config.node_id, NODE_CONFIG, config.values)
    secret, salts = token_secret(config.values), Salts()
    salt_secret = SaltSecretRepository(store, salts.use)
    await salt_secret.start()
    tokens = None if secret is None else DelegationTokens(store, clock, secret, salts)
    if tokens is not None:
        await tokens.start()
    users = StoredUsers(repository, salts, tokens)
    guards = read_guards(config, users, dynamic.changed_live(), threads.control)
    acls = keep_acls(store, clock, guards.authorizer)
    if acls is not None:
        await acls.start()
    cache = MetadataCache()
    features = follow_features(store, cache, fail)
    await features.start()
    ways = build_controller_ways(
        config.listeners,
        store,
        cluster_id,
        guards,
        trail.metrics,
        lambda node_id: controller.controller_refuses(node_id),
    )
    controller, peers = build_controller(
        config, store, cluster_id, cache, guards, told(guards.policies, trail.audit), trail.metrics, clock
    )
    around = Surroundings(
        config=config,
        cluster_id=cluster_id,
        epochs=OwnEpochs(config.node_id),
        cache=cache,
        repository=repository,
        acls=acls,
        features=features,
        tokens=tokens,
        salt_secret=salt_secret,
        users=users,
        dynamic=dynamic,
        guards=guards,
        channel=ways.channel,
        data_loop=build_data_loop(config, trail.metrics, threads),
        lane=LongLane(asyncio.get_running_loop(), config["data.plane.slice.us"]),
        metrics=trail.metrics,
        clock=clock,
    )
    stored_isr = build_stored_isr(config, store, clock)
    data = build_replica_side(around, LogDirFailures(store, config.node_id, fail), stored_isr)
    roll_out = build_roll_out(config, store, controller, cache, told(guards.policies, trail.audit), clock)
    creation = TopicCreator(
        roll_out.creation,
        ways.channel,
        guards.principals.serde,
        _broker_context(config),
        creation_settings(config),
    )
    own = OwnConfigs(config.node_id, NODE_CONFIG, ConfigValuesView(repository), repository.catch_up)
    router, hot_path = _router(around, trail, controller, roll_out, data, creation, own)
    server = build_server(guards, trail, router, hot_path, repository, clock, around.data_loop)
    version = VERSION_WITH_FEATURES if inter_broker_protocol(config).registers_features else VERSION_WITHOUT_FEATURES
    keeper = RegistrationKeeper(store, around.epochs.registered, registration_version=version)
    page = None
    if config["metrics.http.port"] >= 0:
        page = MetricsPage(trail.metrics, config["metrics.http.host"], config["metrics.http.port"], around.lane)
    return NodeParts(
        around=around,
        trail=trail,
        ways=ways,
        controller=controller,
        peers=peers,
        data=data,
        router=router,
        server=server,
        keeper=keeper,
        controller_keeper=RegistrationKeeper(
            store, lambda epoch: None, path_of=controller_id_path, renews_session=False
        ),
        reload=build_live_listeners(around, server, keeper, own),
        audit_delivery=TopicDelivery(
            partial(_audit_client, server, config.node_id, guards), partial(creation.create, AUDIT_TOPIC, None)
        ),
        metrics_page=page,
    )


def build_data_loop(config: NodeConfig, metrics: Metrics, threads: HandshakeThreads) -> DataLoop:
    """Where the connections of data listeners live."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, MeasuredLoop):
        loop.poll_gaps.register(metrics)
    return DataLoop(loop, config["data.plane.slice.us"], threads)


def _router(
    around: Surroundings,
    trail: Trail,
    controller: Controller,
    roll_out: RollOut,
    data: ReplicaSide,
    creation: TopicCreator,
    own: OwnConfigs,
) -> tuple[Router, HotPath]:
    """What answers requests: the router, and the short cut before it."""
    config, channel, serde = around.config, around.channel, around.guards.principals.serde
    timeout_ms = config["request.timeout.ms"]
    ruled = with_broker_principal_rule(config, around.guards.authorizer)
    ceilings = parse_ceilings(config["forwarded.api.versions.max"])
    numbering = ForwardingNumbers(around.epochs)
    counts = ForwardingMetrics(trail.metrics, around.clock, lambda: around.cache.image.controller_id)
    whole = EnvelopeForwarder(channel, serde, counts, timeout_ms, numbering)
    forwarder, unforwarded = PartialForwarder(whole, around.lane), UnforwardedRequests()
    router = Router(
        controller,
        forwarder if roll_out.forwards else unforwarded,
        AuditingObserver(trail.requests, trail.rollups, trail.audit),
        around.clock,
        around.lane,
    )
    quotas = follow_quotas(config, around.repository, around.clock)
    throttling = Throttling(quotas, around.clock.monotonic)
    handlers = build_handlers(
        HandlerParts(
            cluster_id=around.cluster_id,
            epochs=around.epochs,
            router=router,
            cache=around.cache,
            controller=controller,
            changes=roll_out.changes,
            forwards=roll_out.forwards,
            replicas=data.replicas,
            vanished=data.vanished,
            software=trail.software,
            coordinator=data.coordinator,
            authorizer=ruled,
            serde=serde,
            audit=trail.audit,
            advertised=AdvertisedVersions(
                ChannelVersions(channel) if roll_out.forwards else NotIntersected(),
                config.listeners.control_plane_forced,
                ceilings,
            ),
            misroutes=trail.misroutes,
            creation=creation,
            auto_create_topics=config["auto.create.topics.enable"],
            described_partitions=config["max.request.partition.size.limit"],
            producer_ids=ProducerIdBlocks(channel, around.epochs, timeout_ms),
            description=ConfigDescription(
                config.node_id, NODE_CONFIG, config.given, ConfigValuesView(around.repository)
            ),
            own_configs=own,
            forwarder=forwarder,
            acls=around.acls,
            tokens=around.tokens,
            token_secret=around.tokens.secret if around.tokens is not None else None,
            stored=CurrentConfigs(around.repository),
            control=ControlRequests(data.replicas, around.cache, data.coordinator),
            lane=around.lane,
            throttling=throttling,
            default_partitions=config["num.partitions"],
        )
    )
    routes = build_route_table(handlers, ceilings=ceilings)
    router.install(routes, throttling)
    unforwarded.install(routes)
    counters = (trail.requests, trail.rollups)
    authorizer = around.guards.authorizer  # nothing is changed there
    return router, build_hot_path(handlers, data.replicas, around.cache, authorizer, around.clock, counters, quotas)


def build_server(
    guards: Guards, trail: Trail, router: Router, hot_path: HotPath | None,
    repository: ConfigRepository, clock: Clock, data_loop: DataLoop,
) -> SocketServer:  # fmt: skip
    """The sockets before the router, not yet bound."""
    ports = NetworkPorts(
        request_sink=router,
        api_gate=RouteGate(),
        hot_path=hot_path,
        watcher=ConnectionEnds(trail.rollups, trail.software),
        audit=trail.audit,
        metrics=trail.metrics,
        clock=clock,
        security=guards.doors.security,
        principal_builder=guards.principals,
        address_rates=follow_address_rates(repository, clock),
    )
    return SocketServer(guards.doors.table, guards.doors.network, ports, data_loop)


def _broker_context(config: NodeConfig) -> RequestContext:
    """The broker itself as a requester: what it creates without a client's asking is created in its own name."""
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


def _audit_client(server: SocketServer, node_id: int, guards: Guards) -> ClientSettings:
    endpoint = server.table.row(server.table.inter_broker_listener_name).advertised
    assert endpoint is not None
    return ClientSettings(
        bootstrap=[Address(endpoint.host, endpoint.port)],
        client_id=f"signalbox-audit-{node_id}",
        security=guards.peers.of(endpoint),
    )
