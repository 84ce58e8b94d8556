"""Builds the components of a broker. It decides nothing, and starts nothing.

Order: the channels to the controller, the controller, the replication components, and at last the router with its
handlers behind the sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.client.connection.node import Identity
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.internal_topic_settings import creation_settings
from signalbox.configuration.metadata_store import longest_session_s
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.metadata.entries.registration import VERSION_WITH_FEATURES, VERSION_WITHOUT_FEATURES
from signalbox.metadata.layout import controller_id_path
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.server.advertised.address_probes import Prober
from signalbox.server.advertised.address_reports import AddressReports
from signalbox.server.advertised.advertised_check import AdvertisedCheck
from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.audit_topic_locator import created_audit_topic, own_client_settings
from signalbox.server.listeners.listener_validator import ListenerValidator
from signalbox.server.listeners.reload import ListenerReload, Renewed
from signalbox.server.listeners.tls_renewal import TlsRenewal
from signalbox.server.metrics.health_pages import Health
from signalbox.server.node_registration import broker_registration
from signalbox.server.store.store_guard import StoreGuard
from signalbox.wiring.broker_router import BrokerServices, build_broker_router
from signalbox.wiring.controller_channels import ControllerChannels, build_controller_channels
from signalbox.wiring.controller_components import build_controller
from signalbox.wiring.node_components import NodeComponents, build_metrics_page, build_server
from signalbox.wiring.node_context import NodeContext
from signalbox.wiring.replication_components import ReplicationComponents, build_replication
from signalbox.wiring.rolling_upgrade import build_rolling_upgrade, inter_broker_protocol


@dataclass(slots=True, kw_only=True)
class BrokerNodeComponents(NodeComponents):
    """The components of a broker, which may become the controller unless the cluster has dedicated controllers."""

    controller_channels: ControllerChannels
    peer_listeners: PeerListeners
    data: ReplicationComponents
    store_guard: StoreGuard
    controller_registrar: BrokerRegistrar
    reload: ListenerReload
    advertised_check: AdvertisedCheck


def build_broker_node(context: NodeContext) -> BrokerNodeComponents:
    """Returns the components, of which none has started."""
    config, store, security = context.config, context.store, context.security
    controller, peers = build_controller(context)
    channels = build_controller_channels(context, controller.on_controller_connection_refused)
    peer_listeners = PeerListeners(store, config.listeners.inter_broker_listener_name)
    data = build_replication(context, channels.channel, peer_listeners)
    rolling_upgrade = build_rolling_upgrade(context, controller)
    creation = TopicCreator(
        rolling_upgrade.creation,
        channels.channel,
        security.principals.serde,
        _broker_context(config),
        creation_settings(config),
    )
    validator = BrokerConfigValidator(config.node_id, NODE_CONFIG, context.repository)
    services = BrokerServices(controller, channels.channel, peer_listeners, data, rolling_upgrade, creation, validator)
    router, fast_path = build_broker_router(context, services)
    server = build_server(context, router, fast_path)
    if context.tokens is not None:
        context.tokens.on_changed = server.tokens_changed
    version = VERSION_WITH_FEATURES if inter_broker_protocol(config).registers_features else VERSION_WITHOUT_FEATURES
    takeover_s = longest_session_s(config.values)
    registrar = BrokerRegistrar(store, context.epochs.registered, takeover_s, registration_version=version)
    advertised_check, health = _build_advertised_check(context), Health(config.node_id, context.cluster_id)
    health.reasons += [
        registrar.missing_reasons,
        partial(_not_alive_reasons, context),
        advertised_check.not_ready_reasons,
    ]
    health.addresses = lambda: advertised_check.states
    health.brokers = lambda: context.cache.image.brokers
    return BrokerNodeComponents(
        context=context,
        controller_channels=channels,
        controller=controller,
        peers=peers,
        peer_listeners=peer_listeners,
        data=data,
        router=router,
        server=server,
        store_guard=StoreGuard(store, config, context.runtime.fail),
        registrar=registrar,
        controller_registrar=BrokerRegistrar(
            store, lambda epoch: None, takeover_s, path_of=controller_id_path, renews_session=False
        ),
        reload=_build_reload(context, server, registrar, validator, data),
        audit_delivery=_audit_delivery(context, server, creation),
        advertised_check=advertised_check,
        health=health,
        metrics_page=build_metrics_page(context, health),
    )


def _build_advertised_check(context: NodeContext) -> AdvertisedCheck:
    table, dynamic = context.config.listeners, context.dynamic
    identity = Identity(context.cluster_id, context.config.node_id)
    prober = Prober(identity, table.inter_broker_listener_name, context.security.peers)
    reports = AddressReports(identity, context.metrics, context.telemetry.audit)
    return AdvertisedCheck(context.cache, prober, reports, lambda: dynamic.values, table.control_plane_listener_name)


def _not_alive_reasons(context: NodeContext) -> list[str]:
    is_alive = context.cache.is_alive(context.config.node_id)
    return [] if is_alive else ["the metadata does not have this broker as a live one"]


def _build_reload(
    context: NodeContext, server: SocketServer, registrar: BrokerRegistrar, config_validator: BrokerConfigValidator,
    data: ReplicationComponents,
) -> ListenerReload:  # fmt: skip
    """Returns the reload of this broker's listeners, and connects it with the validator of a change and with the update
    of the registration."""
    config, security = context.config, context.security
    renewal = TlsRenewal(server, security.peers)
    validator = ListenerValidator(config, context.dynamic, context.users, server, renewal)

    async def announce() -> None:
        now_ms, directories = context.clock.now_ms(), data.logs.directories
        await registrar.update(broker_registration(config, server.table, now_ms, directories))

    renewed = Renewed(server, renewal, security.peers, security.principals)
    reload = ListenerReload(context.dynamic, validator, renewed, announce)
    config_validator.validator, config_validator.revalidate = validator.validate, reload.revalidate
    return reload


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


def _audit_delivery(context: NodeContext, server: SocketServer, creation: TopicCreator) -> TopicDelivery:
    config, security = context.config, context.security
    return TopicDelivery(
        lambda: own_client_settings(server.table, config.node_id, security.peers),
        partial(created_audit_topic, context.cache, partial(creation.create, AUDIT_TOPIC, None)),
        context.scheduler,
        creation_settings(config).internal_topics[AUDIT_TOPIC].configs,
    )
