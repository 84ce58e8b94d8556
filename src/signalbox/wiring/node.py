"""One node: builds the objects of all packages, starts them in order and stops them in the reverse order.

Start: open the store and read the cluster id; recover the logs; bind the sockets, the metrics page's too; register;
serve the sockets; join the controller election, unless the node is a broker only (`process.roles=broker`). The node is
ready when its metadata, from the active controller, shows this broker as alive. Controlled stop: the controller first
moves leadership away, then connections, fetchers, logs and the session end.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from signalbox.common.clock import SystemClock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.check.taken_addresses import reject_taken_addresses
from signalbox.configuration.check.taken_ids import reject_taken_id
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store, reject_unfinished_copy
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.layout import controller_id_path, create_roots
from signalbox.metadata.store.port import MetadataStore
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from signalbox.server.audit_delivery import AuditWriter
from signalbox.server.housekeeping import Housekeeping, log_chores
from signalbox.server.node_registration import broker_registration, controller_registration
from signalbox.server.scrubbing import Scrubbing
from signalbox.server.store.finalized_features import reject_unsupported_features
from signalbox.server.store.store_guard import StoreGuard
from signalbox.server.store.topics_without_entry import log_topics_without_entry
from signalbox.storage.validation.log_scrub import LogScrub, measure_scrub
from signalbox.wiring.node_components import NodeComponents, build_node

log = logging.getLogger(__name__)

_READY_TIMEOUT_S = 30.0
_AUDIT_DRAIN_S = 3.0
_SHUTDOWN_REQUEST_MS = 10_000


class Node:
    """A broker, which may become the controller unless the cluster has dedicated controllers."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.clock = SystemClock()
        self._store: MetadataStore | None = None
        self._components: NodeComponents | None = None
        self._store_guard: StoreGuard | None = None
        self._housekeeping: Housekeeping | None = None
        self._failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._metrics_port = -1

    @property
    def components(self) -> NodeComponents:
        """The running node's components; RuntimeError before `start`."""
        if self._components is None:
            raise RuntimeError("the node has not started")
        return self._components

    async def start(self) -> None:
        """Returns when the broker is a live member of its cluster and serves requests. StartError names the key to
        change; for other failures OSError, RuntimeError, StoreError and KafkaError."""
        scheduler = TaskScheduler(asyncio.get_running_loop(), self.config["signalbox.event.loop.slice.us"])
        store = self._store = await open_store(self.config.values, self.clock, scheduler)
        await reject_unfinished_copy(store, self.config.values)
        await reject_unsupported_features(store, self.config.values)
        await create_roots(store)
        cluster_id = await read_or_create_cluster_id(store)
        guard = StoreGuard(store, self.config, self._fail)
        await guard.check()
        components = self._components = await build_node(
            self.config, store, cluster_id, self.clock, scheduler, self._fail
        )
        self._store_guard = guard
        await guard.start(components.data.logs.directories)
        await reject_taken_addresses(store, self.config, components.context.security.listeners.table)
        await components.server.start_listening()
        if components.metrics_page is not None:
            self._metrics_port = await components.metrics_page.start()
        if not self.config.has_controller_listener:
            await reject_taken_id(store, self.config, controller_id_path(self.config.node_id), "a dedicated controller")
        directories = components.data.logs.directories
        await components.registrar.register(
            broker_registration(self.config, components.server.table, self.clock.now_ms(), directories)
        )
        components.context.peer_listeners.start()
        components.controller_channels.start()
        await components.server.enable()
        components.reload.start(components.context.repository)
        components.data.replicas.start()
        if self.config.has_controller_listener:
            registration = controller_registration(self.config, components.server.table, self.clock.now_ms())
            await components.controller_registrar.register(registration)
        if self.config.may_be_controller:
            await components.controller.start()
        self._housekeeping = self._build_housekeeping(components)
        self._housekeeping.start(components.epochs.broker_epoch)
        node_id = self.config.node_id
        if not await components.cache.wait_until(lambda image: image.is_alive(node_id), _READY_TIMEOUT_S):
            raise RuntimeError(
                f"the controller did not send metadata with broker {node_id} within {_READY_TIMEOUT_S:.0f} s"
            )
        await log_topics_without_entry(store, components.data.logs, components.cache.image)
        log.info("broker %d of cluster %s is ready", node_id, cluster_id)

    def _build_housekeeping(self, components: NodeComponents) -> Housekeeping:
        logs, dynamic, scheduler = components.data.logs, components.context.dynamic, components.scheduler
        scrub = LogScrub(logs)
        measure_scrub(components.context.metrics, scrub)
        enabled = self.config["signalbox.audit.enable"]
        audit = AuditWriter(components.telemetry, components.audit_delivery, enabled, components.server.flush_audit)
        return Housekeeping(
            scheduler, log_chores(logs, dynamic), audit, Scrubbing(scrub, lambda: dynamic.values, scheduler)
        )

    async def failed(self) -> str:
        """Waits for a fatal failure of the node; returns the reason."""
        return await self._failure

    def describe(self) -> dict[str, Any]:
        """Returns ids and the real addresses, for the program that started the node."""
        return {
            "node_id": self.config.node_id,
            "cluster_id": self.components.cluster_id,
            "broker_epoch": self.components.epochs.broker_epoch,
            "listeners": {
                row.name: f"{row.advertised.host}:{row.advertised.port}"
                for row in self.components.server.table
                if row.advertised is not None
            },
            "bound": {row.name: f"{row.host or '127.0.0.1'}:{row.port}" for row in self.components.server.table},
            "metrics": f"http://{self.config['signalbox.metrics.http.host']}:{self._metrics_port}/metrics"
            if self._metrics_port > 0
            else "",
        }

    def work_done(self) -> int:
        """A counter that grows while the node has work."""
        components = self.components
        return (
            components.data_loop.iterations
            + components.scheduler.slices
            + sum(plane.requests for plane in components.server.planes.values())
        )

    async def stop(self, controlled: bool = True) -> None:
        """Stops everything in the reverse order of the start; also correct after a start that failed half-way."""
        components = self._components
        if components is not None:
            if controlled and self.config["controlled.shutdown.enable"] and self._housekeeping is not None:
                await self._hand_over(components)
            if self._housekeeping is not None:
                await self._housekeeping.stop(_AUDIT_DRAIN_S if controlled else 0.0)
            if self._store_guard is not None:
                await self._store_guard.stop(controlled)
            await components.stop()
        if self._store is not None:
            await self._store.close()
        if components is not None and not components.data_loop.closed:
            components.data_loop.close()

    async def _hand_over(self, components: NodeComponents) -> None:
        """Ask the controller to move leadership to other brokers; give up after the configured retries (KIP-291,
        C3)."""
        request = ControlledShutdownRequest(broker_id=self.config.node_id, broker_epoch=components.epochs.broker_epoch)
        tries = self.config["controlled.shutdown.max.retries"]
        components.controller.node_stops()
        components.data.replicas.fetchers.follow_no_new_partitions()
        for attempt in range(tries + 1):
            try:
                answer = await components.controller_channels.shutdown_channel.request(request, _SHUTDOWN_REQUEST_MS)
            except KafkaError as error:
                log.info("Controlled shutdown was not answered (try=%d): %s", attempt + 1, error)
            else:
                if answer.error_code == Error.NONE and not answer.remaining_partitions:
                    log.info("leadership has moved away")
                    return
                log.info(
                    "Controlled shutdown goes on (try=%d, error=%s, partitions led here=%d)",
                    attempt + 1,
                    Error.of(answer.error_code).name,
                    len(answer.remaining_partitions),
                )
            backoff_s = self.config["controlled.shutdown.retry.backoff.ms"] / 1000
            # If this is the only live broker, no other broker can take the leadership: waiting does not help.
            if await components.cache.wait_until(
                lambda image: len(image.brokers) <= 1, backoff_s if attempt < tries else 0
            ):
                break
        if len(components.cache.image.brokers) <= 1:
            log.info("Controlled shutdown ended: no other broker is alive that could lead the partitions led here")
            return
        log.warning("Proceeding to an unclean shutdown (tries=%d): some partitions are still led here", tries + 1)

    def _fail(self, reason: str) -> None:
        if not self._failure.done():
            self._failure.set_result(reason)
