"""Builds the components of a dedicated controller (F15): those of a broker without logs, replicas and coordinators.

Its listeners are the controller's own; their requests are those of `broker/routes.CONTROLLER_ROUTES`. It keeps a
connection to the active controller, as brokers do, but sends nothing: if that connection closes, this is the first sign
that another controller must be elected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.forwarding.version_ceilings import parse_ceilings
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.quotas.throttling import Throttling
from signalbox.broker.router import Router
from signalbox.broker.routes import CONTROLLER_ROUTES, build_route_table
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.client.inter_broker.peer_channels import PeerChannels
from signalbox.common.clock import Clock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.authorizers import open_acl_repository
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.delegation_tokens import token_secret
from signalbox.configuration.policies import audited
from signalbox.configuration.quotas import follow_quotas
from signalbox.configuration.security_config import SecurityConfig, read_security_config
from signalbox.controller.runtime import Controller
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.salt_secret import SaltSecretRepository
from signalbox.metadata.feature_repository import FeatureRepository
from signalbox.metadata.layout import controller_id_path
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.sasl.salts import Salts
from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.audit_topic_locator import AuditTopicLocator
from signalbox.server.controller_lookup import StoredControllerLookup
from signalbox.server.local_epochs import LocalEpochs
from signalbox.server.metrics.metrics_page import MetricsPage
from signalbox.server.store.finalized_features import follow_features
from signalbox.server.stored_users import StoredUsers
from signalbox.server.telemetry import Telemetry
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.tls.handshake_threads import HandshakeThreads
from signalbox.wiring.controller_components import build_controller
from signalbox.wiring.handler_table import (
    ControllerHandlerDependencies,
    build_controller_handlers,
    build_resource_authorizers,
)
from signalbox.wiring.node_components import build_data_loop, build_server


@dataclass(slots=True, kw_only=True)
class ControllerNodeComponents:
    """The components of a running controller. `epochs.broker_epoch` is the epoch of its own registration."""

    cluster_id: str
    epochs: LocalEpochs
    cache: MetadataCache
    repository: ConfigRepository
    features: FeatureRepository
    salt_secret: SaltSecretRepository
    acls: AclRepository | None
    telemetry: Telemetry
    security: SecurityConfig
    lookup: StoredControllerLookup
    channel: ControllerChannel
    controller: Controller
    peers: PeerChannels
    router: Router
    server: SocketServer
    registrar: BrokerRegistrar
    scheduler: TaskScheduler
    data_loop: DataLoop
    audit_delivery: TopicDelivery
    metrics_page: MetricsPage | None

    async def stop(self) -> None:
        """Stop everything but the store, the listeners first."""
        await self.server.stop_accepting()
        self.router.close()
        await self.controller.stop()
        await self.registrar.stop()
        await self.lookup.stop()
        await self.channel.close()
        await self.peers.close()
        await self.server.stop("the controller stops")
        await self.repository.stop()
        await self.features.stop()
        await self.salt_secret.stop()
        if self.acls is not None:
            await self.acls.stop()
        if self.metrics_page is not None:
            await self.metrics_page.stop()


async def build_controller_node(
    config: NodeConfig, store: MetadataStore, cluster_id: str, clock: Clock, scheduler: TaskScheduler,
    fail: Callable[[str], None],
) -> ControllerNodeComponents:  # fmt: skip
    """Build and connect. `fail` is called with the reason of a fatal failure. StartError, KafkaError, OSError."""
    threads, telemetry = HandshakeThreads(), Telemetry.begin(config, clock, scheduler)
    repository, salts = ConfigRepository(store, clock), Salts()
    await repository.start()
    salt_secret = SaltSecretRepository(store, salts.use)
    await salt_secret.start()
    security = read_security_config(config, StoredUsers(repository, salts), None, threads.control)
    acls = open_acl_repository(store, clock, scheduler, security.authorizer)
    if acls is not None:
        await acls.start()
    cache, epochs = MetadataCache(), LocalEpochs(config.node_id)
    features = follow_features(store, cache, fail)
    await features.start()
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
    own = config.listeners.inter_broker_listener_name
    lookup = StoredControllerLookup(
        store, lambda registration: registration.privileged_endpoint(own), security.peers.of
    )
    channel = ControllerChannel(lookup, cluster_id, security.inter_broker, controller.on_controller_connection_refused)
    lookup.on_change = channel.controller_changed
    data_loop = build_data_loop(config, telemetry.metrics, threads)
    observer = AuditingObserver(telemetry.requests, telemetry.rollups, telemetry.audit)
    router = Router(controller, _NoForwarder(), observer, clock, scheduler)
    throttling = Throttling(follow_quotas(config, repository, clock), clock.monotonic)
    ceilings = parse_ceilings(config["signalbox.forwarded.api.versions.max"])
    components = ControllerHandlerDependencies(
        cluster_id=cluster_id,
        epochs=epochs,
        router=router,
        cache=cache,
        controller=controller,
        changes=controller,
        authorizer=security.authorizer,
        serde=security.principals.serde,
        audit=telemetry.audit,
        advertised=AdvertisedVersions(None, forced_control_plane=False, ceilings=ceilings),
        misroutes=telemetry.misroutes,
        software=telemetry.software,
        token_secret=token_secret(config.values),
        acls=acls,
        throttling=throttling,
        default_partitions=config["num.partitions"],
    )
    handlers = build_controller_handlers(components, build_resource_authorizers(components))
    router.install(build_route_table(handlers, CONTROLLER_ROUTES, ceilings), throttling)
    page = None
    if config["signalbox.metrics.http.port"] >= 0:
        page = MetricsPage(
            telemetry.metrics, config["signalbox.metrics.http.host"], config["signalbox.metrics.http.port"], scheduler
        )
    way = AuditTopicLocator(store, config, security.peers)
    return ControllerNodeComponents(
        cluster_id=cluster_id,
        epochs=epochs,
        cache=cache,
        repository=repository,
        features=features,
        salt_secret=salt_secret,
        acls=acls,
        telemetry=telemetry,
        security=security,
        lookup=lookup,
        channel=channel,
        controller=controller,
        peers=peers,
        router=router,
        server=build_server(security, telemetry, router, None, repository, clock, data_loop),
        registrar=BrokerRegistrar(store, epochs.registered, path_of=controller_id_path),
        scheduler=scheduler,
        data_loop=data_loop,
        audit_delivery=TopicDelivery(way.settings, way.find, scheduler),
        metrics_page=page,
    )


class _NoForwarder:
    """Implements `broker/ports.Forwarder`: a controller forwards nothing; what it handles came in an Envelope."""

    def forward(self, request: ApiRequest) -> Awaitable[FinalResponse]:
        raise KafkaError(Error.NOT_CONTROLLER, "this controller is not active")
