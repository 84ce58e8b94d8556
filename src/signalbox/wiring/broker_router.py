"""Builds a broker's router with all handlers, and the fast path in front of it."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.broker.api_request import Handler
from signalbox.broker.client_quotas import ClientQuotas, Throttling
from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.fast_path.fast_api_versions import FastApiVersions
from signalbox.broker.fast_path.fast_fetch import FastFetch
from signalbox.broker.fast_path.fast_path import FastPath
from signalbox.broker.fast_path.fast_produce import FastProduce
from signalbox.broker.forwarding.filtering_forwarder import FilteringForwarder
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder, ForwardingIds
from signalbox.broker.forwarding.forwarding_metrics import ForwardingMetrics
from signalbox.broker.forwarding.version_ceilings import parse_ceilings
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.broker.handlers.topics.create_topics import CreateTopicsHandler
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.router import Router
from signalbox.broker.routes import build_route_table
from signalbox.broker.routing.advertised_versions import AdvertisedVersions, ControllerVersions
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.configuration.authorizers import with_broker_principal_rule
from signalbox.configuration.quotas import follow_quotas
from signalbox.controller.runtime import Controller
from signalbox.metadata.entries.quota_entity import REQUEST_PERCENTAGE
from signalbox.metadata.peer_listeners import PeerListeners
from signalbox.protocol.api_table import ApiKey
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.principal import KafkaPrincipal
from signalbox.wiring.handler_table import HandlerDependencies, build_handlers
from signalbox.wiring.node_context import NodeContext
from signalbox.wiring.replication_components import ReplicationComponents
from signalbox.wiring.rolling_upgrade import RollingUpgrade


@dataclass(frozen=True, slots=True)
class BrokerServices:
    """What the handlers of a broker use beside its context."""

    controller: Controller
    channel: ControllerChannel
    peer_listeners: PeerListeners
    data: ReplicationComponents
    rolling_upgrade: RollingUpgrade
    creation: TopicCreator
    config_validator: BrokerConfigValidator


def build_broker_router(context: NodeContext, services: BrokerServices) -> tuple[Router, FastPath]:
    """Returns the router, and the fast path in front of it."""
    config, telemetry, data = context.config, context.telemetry, services.data
    rolling_upgrade, forwarder = services.rolling_upgrade, _forwarder(context, services.channel)
    router = Router(
        services.controller,
        rolling_upgrade.local_requests or forwarder,
        AuditingObserver(telemetry.requests, telemetry.rollups, telemetry.audit),
        context.clock,
        context.scheduler,
    )
    ceilings = parse_ceilings(config["signalbox.forwarded.api.versions.max"])
    quotas = follow_quotas(config, context.repository, context.clock)
    throttling = Throttling(quotas, context.clock.monotonic, data.replicas.fetches.withdraw)
    authorizer = with_broker_principal_rule(config, context.security.authorizer)
    handlers = build_handlers(
        HandlerDependencies(
            context=context,
            router=router,
            controller=services.controller,
            changes=rolling_upgrade.changes,
            authorizer=authorizer,
            advertised=AdvertisedVersions(
                ControllerVersions(services.channel) if rolling_upgrade.forwards else None,
                config.listeners.control_plane_forced,
                ceilings,
                services.peer_listeners,
            ),
            throttling=throttling,
            peer_listeners=services.peer_listeners,
            broker_config_validator=services.config_validator,
            exposed=rolling_upgrade.exposed,
            data=data,
            creation=services.creation,
            forwarder=forwarder,
        )
    )
    services.creation.install(
        CreateTopicsHandler(rolling_upgrade.creation, authorizer, throttling, config["num.partitions"])
    )
    routes = build_route_table(handlers, ceilings=ceilings)
    router.install(routes, throttling)
    if rolling_upgrade.local_requests is not None:
        rolling_upgrade.local_requests.install(routes)
    return router, _fast_path(context, handlers, data.replicas, quotas)


def _forwarder(context: NodeContext, channel: ControllerChannel) -> FilteringForwarder:
    """Returns the forwarder to the active controller, behind this broker's own authorization."""
    metrics = ForwardingMetrics(context.telemetry.metrics, context.clock, lambda: context.cache.image.controller_id)
    envelopes = EnvelopeForwarder(
        channel,
        context.security.principals.serde,
        metrics,
        context.config["request.timeout.ms"],
        ForwardingIds(context.epochs),
    )
    return FilteringForwarder(envelopes, context.scheduler)


def _fast_path(
    context: NodeContext, handlers: dict[ApiKey, Handler], replicas: ReplicaManager, quotas: ClientQuotas
) -> FastPath:
    """Returns the fast path for Produce, Fetch and ApiVersions."""
    cache, clock, telemetry = context.cache, context.clock, context.telemetry
    authorizer = context.security.authorizer  # without F15's rule: the fast path has no changes of metadata
    produce, api_versions = handlers[ApiKey.PRODUCE], handlers[ApiKey.API_VERSIONS]
    assert isinstance(produce, ProduceHandler)
    assert isinstance(api_versions, ApiVersionsHandler)

    def has_quota(quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
        return any(quotas.holds_for(key, principal, client_id) for key in (quota, REQUEST_PERCENTAGE))

    fast_path = FastPath(
        {
            ApiKey.PRODUCE: FastProduce(replicas, cache, authorizer, produce, clock, has_quota),
            ApiKey.FETCH: FastFetch(replicas, cache, authorizer, clock, has_quota),
            ApiKey.API_VERSIONS: FastApiVersions(api_versions, clock),
        },
        telemetry.requests,
        telemetry.rollups,
    )
    quotas.changed = fast_path.forget_all
    return fast_path
