"""A broker, which may become the controller unless the cluster has dedicated controllers: the order in which its
components start and stop.

It is ready when its metadata, from the active controller, shows this broker as alive. In a controlled stop the
controller first moves leadership away; then connections, fetchers, logs and the session end.
"""

from __future__ import annotations

from signalbox.broker.api_request import as_future
from signalbox.configuration.check.taken_by_other_nodes import reject_taken_addresses, reject_taken_id
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.layout import controller_id_path
from signalbox.server.cleaning import Cleaning
from signalbox.server.controlled_shutdown import move_leadership
from signalbox.server.housekeeping import log_chores
from signalbox.server.node_registration import broker_registration, controller_registration
from signalbox.server.scrubbing import Scrubbing
from signalbox.server.store.topics_without_entry import log_topics_without_entry
from signalbox.storage.cleaner.cleaner_metrics import measure_cleaner
from signalbox.storage.cleaner.log_cleaner import LogCleaner
from signalbox.storage.cleaner.worker_process import ProcessWorker
from signalbox.storage.validation.log_scrub import LogScrub, measure_scrub
from signalbox.wiring.broker_node_components import BrokerNodeComponents, build_broker_node
from signalbox.wiring.component import Component
from signalbox.wiring.node import Node
from signalbox.wiring.node_components import housekeeping_component, metrics_page_component, readiness_component

_READY_TIMEOUT_S = 30.0


def broker_node(config: NodeConfig) -> Node[BrokerNodeComponents]:
    """Returns a broker that has not started."""
    return Node(config, build_broker_node, broker_component_list)


def broker_component_list(node: BrokerNodeComponents) -> list[Component]:
    """The components in the order of their start."""
    return [
        *metrics_page_component(node),  # stops last: a scraper sees the shutdown
        *_storage(node),
        *_registration(node),
        *_serving(node),
        _log_housekeeping(node),
        _log_cleaner(node),
        _controlled_shutdown(node),
        Component(name="first metadata", start=lambda: _wait_until_alive(node)),
        Component(
            name="check of advertised addresses", start=node.advertised_check.start, stop=node.advertised_check.stop
        ),
        readiness_component(node),
    ]


def _storage(node: BrokerNodeComponents) -> list[Component]:
    """Logs and replicas. They stop when no connection can reach them any more; the logs last, because the others write
    to them."""
    data, guard, epochs = node.data, node.store_guard, node.epochs
    return [
        Component(name="check of the metadata store's age", start=guard.check),
        Component(name="spare descriptors", stop=data.spare_descriptors.close),
        Component(name="logs", start=data.start_logs, stop=lambda: data.logs.close(epochs.broker_epoch)),
        Component(name="replicas", start=data.replicas.start, stop=data.replicas.close),
        Component(
            name="metadata store guard",
            start=lambda: guard.start(data.logs.directories),
            stop=lambda: guard.stop(controlled=False),
            controlled_stop=lambda: guard.stop(controlled=True),
        ),
    ]


def _registration(node: BrokerNodeComponents) -> list[Component]:
    """The sockets, the metrics page's too, are bound before the broker registers, so that it is never registered with
    an address that it does not have."""
    context, server = node.context, node.server
    config, store = context.config, context.store

    async def check_id() -> None:
        if not config.has_controller_listener:
            await reject_taken_id(store, config, controller_id_path(config.node_id), "a dedicated controller")

    async def register() -> None:
        directories = node.data.logs.directories
        registration = broker_registration(config, server.table, context.clock.now_ms(), directories)
        await node.registrar.register(registration)

    return [
        Component(
            name="check of the advertised addresses",
            start=lambda: reject_taken_addresses(store, config, context.security.listeners.table),
        ),
        Component(name="sockets", start=server.start_listening, stop=server.stop),
        Component(name="check of the node id", start=check_id),
        Component(name="channels to brokers", stop=node.peers.close),
        Component(name="broker registration", start=register, stop=node.registrar.stop),
        Component(name="listeners of other brokers", start=node.peer_listeners.start, stop=node.peer_listeners.stop),
        Component(name="controller channels", start=node.controller_channels.start, stop=node.controller_channels.stop),
    ]


def _serving(node: BrokerNodeComponents) -> list[Component]:
    """What serves requests, the controller included. It stops from the outside: no new connections, no listeners that a
    reload adds, no requests in flight; and only then what they use."""
    context, server, data, reload = node.context, node.server, node.data, node.reload
    config = context.config

    async def register_controller() -> None:
        if config.has_controller_listener:
            registration = controller_registration(config, server.table, context.clock.now_ms())
            await node.controller_registrar.register(registration)

    async def join_election() -> None:
        if config.may_be_controller:
            await node.controller.start()

    async def stop_verification() -> None:
        data.transactions.verification_channels.close()

    return [
        Component(name="listeners", start=server.enable),
        Component(name="controller registration", start=register_controller, stop=node.controller_registrar.stop),
        Component(name="log directory failures", stop=data.log_dir_failures.stop),
        Component(name="group coordinator", stop=lambda: as_future(data.coordinator.stop())),
        Component(name="transaction coordinator", stop=lambda: as_future(data.transactions.coordinator.stop())),
        Component(name="transaction verification", stop=stop_verification),
        Component(name="controller", start=join_election, stop=node.controller.stop),
        Component(name="requests in flight", stop=node.router.close),
        Component(name="changes of listeners", start=lambda: reload.start(context.repository), stop=reload.stop),
        Component(name="new connections", stop=server.stop_accepting),
    ]


def _log_housekeeping(node: BrokerNodeComponents) -> Component:
    logs, dynamic = node.data.logs, node.context.dynamic
    scrub = LogScrub(logs)
    measure_scrub(node.context.metrics, scrub)
    scrubbing = Scrubbing(scrub, lambda: dynamic.values, node.scheduler)
    return housekeeping_component(node, log_chores(logs, dynamic), scrubbing)


def _log_cleaner(node: BrokerNodeComponents) -> Component:
    context = node.context
    cleaner = LogCleaner(node.data.logs, context.clock)
    measure_cleaner(context.metrics, cleaner, context.clock)
    cleaning = Cleaning(cleaner, lambda: context.dynamic.values, node.scheduler, ProcessWorker)
    return Component(name="log cleaner", start=cleaning.start, stop=cleaning.stop)


def _controlled_shutdown(node: BrokerNodeComponents) -> Component:
    config = node.context.config

    async def move_leaders() -> None:
        node.controller.node_stops()
        node.data.replicas.fetchers.follow_no_new_partitions()
        channel = node.controller_channels.shutdown_channel
        await move_leadership(config, node.epochs.broker_epoch, channel, node.cache)

    return Component(
        name="controlled shutdown",
        controlled_stop=move_leaders if config["controlled.shutdown.enable"] else None,
    )


async def _wait_until_alive(node: BrokerNodeComponents) -> None:
    """RuntimeError without metadata that shows this broker as alive."""
    node_id = node.context.config.node_id
    if not await node.cache.wait_until(lambda image: image.is_alive(node_id), _READY_TIMEOUT_S):
        raise RuntimeError(
            f"the controller did not send metadata with broker {node_id} within {_READY_TIMEOUT_S:.0f} s"
        )
    await log_topics_without_entry(node.context.store, node.data.logs, node.cache.image)
