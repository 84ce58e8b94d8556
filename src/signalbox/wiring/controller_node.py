"""A dedicated controller (F15): its components, those of a broker without logs, replicas and coordinators, and their
order.

It registers for brokers only, takes part in the controller election, and serves the requests between brokers and itself
(`broker/routes.CONTROLLER_ROUTES`). It keeps a connection to the active controller, as brokers do, but sends nothing:
if that connection closes, this is the first sign that another controller must be elected.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.forwarding.version_ceilings import parse_ceilings
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import CONTROLLER_ROUTES, build_route_table
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.configuration.check.taken_by_other_nodes import reject_taken_id
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import longest_session_s
from signalbox.configuration.quotas import follow_quotas
from signalbox.controller.runtime import Controller
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.metadata.layout import broker_id_path, controller_id_path
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.audit_topic_locator import AuditTopicLocator
from signalbox.server.controller_lookup import StoredControllerLookup
from signalbox.server.metrics.health_pages import Health
from signalbox.server.node_registration import controller_registration
from signalbox.server.store.store_guard import StoreGuard
from signalbox.wiring.component import Component
from signalbox.wiring.controller_components import build_controller
from signalbox.wiring.handler_table import (
    ControllerHandlerDependencies,
    build_controller_handlers,
    build_resource_authorizers,
)
from signalbox.wiring.node import Node
from signalbox.wiring.node_components import (
    NodeComponents,
    build_metrics_page,
    build_server,
    housekeeping_component,
    metrics_page_component,
    readiness_component,
)
from signalbox.wiring.node_context import NodeContext


@dataclass(slots=True, kw_only=True)
class ControllerNodeComponents(NodeComponents):
    """The components of a dedicated controller. `epochs.broker_epoch` is the epoch of its own registration."""

    lookup: StoredControllerLookup
    channel: ControllerChannel
    store_guard: StoreGuard


def controller_node(config: NodeConfig) -> Node[ControllerNodeComponents]:
    """Returns a dedicated controller that has not started."""
    return Node(config, build_controller_node, controller_component_list)


def controller_component_list(node: ControllerNodeComponents) -> list[Component]:
    """The components in the order of their start: sockets are bound before the node registers, served before it joins
    the election. An older copy of the store is noticed from the beginning on. A stop closes the
    listeners first; its claim, if it has one, ends with the session."""
    context, server, channel, lookup = node.context, node.server, node.channel, node.lookup
    config = context.config

    async def register() -> None:
        await node.registrar.register(controller_registration(config, server.table, context.clock.now_ms()))

    def start_channel() -> None:
        lookup.start()
        channel.start()

    async def stop_channel() -> None:
        await lookup.stop()
        await channel.close()

    return [
        *metrics_page_component(node),
        Component(
            name="metadata store guard",
            start=lambda: node.store_guard.start(directories=()),
            stop=lambda: node.store_guard.stop(controlled=False),
            controlled_stop=lambda: node.store_guard.stop(controlled=True),
        ),
        Component(name="sockets", start=server.start_listening, stop=lambda: server.stop("the controller stops")),
        Component(
            name="check of the node id",
            start=lambda: reject_taken_id(context.store, config, broker_id_path(config.node_id), "a broker"),
        ),
        Component(name="channels to brokers", stop=node.peers.close),
        Component(name="registration", start=register, stop=node.registrar.stop),
        Component(name="listeners", start=server.enable),
        Component(name="controller", start=node.controller.start, stop=node.controller.stop),
        Component(name="controller channel", start=start_channel, stop=stop_channel),
        Component(name="requests in flight", stop=node.router.close),
        Component(name="new connections", stop=server.stop_accepting),
        housekeeping_component(node),
        readiness_component(node),
    ]


def build_controller_node(context: NodeContext) -> ControllerNodeComponents:
    """Returns the components, of which none has started."""
    controller, peers = build_controller(context)
    security, own = context.security, context.config.listeners.inter_broker_listener_name
    lookup = StoredControllerLookup(
        context.store, lambda registration: registration.privileged_endpoint(own), security.peers.of
    )
    channel = ControllerChannel(
        lookup, context.cluster_id, security.inter_broker, controller.on_controller_connection_refused
    )
    lookup.on_change = channel.controller_changed
    router = _router(context, controller)
    takeover_s = longest_session_s(context.config.values)
    registrar = BrokerRegistrar(context.store, context.epochs.registered, takeover_s, path_of=controller_id_path)
    health = Health(context.config.node_id, context.cluster_id, reasons=[registrar.missing_reasons])
    locator = AuditTopicLocator(context.store, context.config, security.peers)
    return ControllerNodeComponents(
        context=context,
        lookup=lookup,
        channel=channel,
        store_guard=StoreGuard(context.store, context.config, context.runtime.fail),
        controller=controller,
        peers=peers,
        router=router,
        server=build_server(context, router, None),
        registrar=registrar,
        audit_delivery=TopicDelivery(locator.settings, locator.find, context.scheduler),
        health=health,
        metrics_page=build_metrics_page(context, health),
    )


def _router(context: NodeContext, controller: Controller) -> Router:
    """Returns the router with its handlers."""
    config, telemetry = context.config, context.telemetry
    observer = AuditingObserver(telemetry.requests, telemetry.rollups, telemetry.audit)
    router = Router(controller, _NoForwarder(), observer, context.clock, context.scheduler)
    throttling = Throttling(follow_quotas(config, context.repository, context.clock), context.clock.monotonic)
    ceilings = parse_ceilings(config["signalbox.forwarded.api.versions.max"])
    dependencies = ControllerHandlerDependencies(
        context=context,
        router=router,
        controller=controller,
        changes=controller,
        authorizer=context.security.authorizer,
        advertised=AdvertisedVersions(None, forced_control_plane=False, ceilings=ceilings),
        throttling=throttling,
    )
    handlers = build_controller_handlers(dependencies, build_resource_authorizers(dependencies))
    router.install(build_route_table(handlers, CONTROLLER_ROUTES, ceilings), throttling)
    return router


class _NoForwarder:
    """Implements `broker/ports.Forwarder`: a controller forwards nothing; what it handles came in an Envelope."""

    def forward(self, request: ApiRequest) -> Awaitable[FinalResponse]:
        raise KafkaError(Error.NOT_CONTROLLER, "this controller is not active")
