"""The components that both kinds of node have, and how they are built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.fast_path.fast_path import FastPath
from signalbox.broker.router import Router
from signalbox.broker.routes import served_versions
from signalbox.client.inter_broker.peer_channels import PeerChannels
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.quotas import follow_address_rates
from signalbox.controller.runtime import Controller
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.metadata.cache import MetadataCache
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.ports import NetworkPorts
from signalbox.server.audit_delivery import AuditWriter, TopicDelivery
from signalbox.server.housekeeping import Chore, Housekeeping
from signalbox.server.metrics.health_pages import Health
from signalbox.server.metrics.metrics_page import MetricsPage
from signalbox.server.metrics.page_thread import PageThread
from signalbox.server.scrubbing import Scrubbing
from signalbox.server.telemetry import Telemetry
from signalbox.transport.data_loop import DataLoop
from signalbox.wiring.component import Component
from signalbox.wiring.node_context import NodeContext

_AUDIT_DRAIN_S = 3.0


@dataclass(slots=True, kw_only=True)
class NodeComponents:
    """`registrar` keeps the node registered: as a broker, or as a controller if it is no broker."""

    context: NodeContext
    controller: Controller
    peers: PeerChannels
    router: Router
    server: SocketServer
    registrar: BrokerRegistrar
    audit_delivery: TopicDelivery
    health: Health
    metrics_page: PageThread | None

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
    def telemetry(self) -> Telemetry:
        return self.context.telemetry

    @property
    def scheduler(self) -> TaskScheduler:
        return self.context.scheduler

    @property
    def data_loop(self) -> DataLoop:
        return self.context.data_loop


def build_server(context: NodeContext, router: Router, fast_path: FastPath | None) -> SocketServer:
    """Returns the server of the sockets in front of the router, not yet bound."""
    telemetry, security = context.telemetry, context.security
    ports = NetworkPorts(
        request_sink=router,
        served_versions=served_versions(),
        fast_path=fast_path,
        watcher=telemetry,
        audit=telemetry.audit,
        metrics=telemetry.metrics,
        clock=context.clock,
        security=security.listeners.security,
        principal_builder=security.principals,
        address_rates=follow_address_rates(context.repository, context.clock),
    )
    return SocketServer(security.listeners.table, security.listeners.network, ports, context.data_loop)


def build_metrics_page(context: NodeContext, health: Health) -> PageThread | None:
    """None with signalbox.metrics.http.port=-1."""
    host, port = context.config["signalbox.metrics.http.host"], context.config["signalbox.metrics.http.port"]
    if port < 0:
        return None
    return PageThread(MetricsPage(context.telemetry.metrics, host, port, context.scheduler), health)


def metrics_page_component(node: NodeComponents) -> list[Component]:
    """One entry, or none without a metrics page."""
    page = node.metrics_page
    return [] if page is None else [Component(name="metrics page", start=page.start, stop=page.stop)]


def readiness_component(node: NodeComponents) -> Component:
    """The last entry of the list: the node is ready when all others have started, and not when the first one stops."""
    return Component(name="readiness", start=node.health.started, stop=node.health.stopping)


def housekeeping_component(
    node: NodeComponents, chores: Sequence[Chore] = (), scrubbing: Scrubbing | None = None
) -> Component:
    """A controlled stop writes the rest of the audit trail, which needs the node's listeners and replicas."""
    enabled = node.context.config["signalbox.audit.enable"]
    audit = AuditWriter(node.telemetry, node.audit_delivery, enabled, node.server.flush_audit)
    housekeeping = Housekeeping(node.scheduler, chores, audit, scrubbing)
    return Component(
        name="housekeeping",
        start=lambda: housekeeping.start(node.epochs.broker_epoch),
        stop=lambda: housekeeping.stop(0.0),
        controlled_stop=lambda: housekeeping.stop(_AUDIT_DRAIN_S),
    )
