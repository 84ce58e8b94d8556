"""One dedicated controller (F15): it registers for brokers only, takes part in the controller election, and serves the
requests between brokers and itself.

Start: open the store and read the cluster id; watch that no older copy replaces the store; bind the sockets, the
metrics page's too; register; serve the sockets; join the election. Then it is ready, whichever node is elected. Stop:
close the connections, leave the election; its claim, if it has one, ends with the session.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from signalbox.common.clock import SystemClock
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.check.taken_ids import reject_taken_id
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store, reject_unfinished_copy
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.layout import broker_id_path, create_roots
from signalbox.metadata.store.port import MetadataStore
from signalbox.server.audit_delivery import AuditWriter
from signalbox.server.housekeeping import Housekeeping
from signalbox.server.node_registration import controller_registration
from signalbox.server.store.finalized_features import reject_unsupported_features
from signalbox.server.store.store_guard import StoreGuard
from signalbox.wiring.controller_node_components import ControllerNodeComponents, build_controller_node

log = logging.getLogger(__name__)

_AUDIT_DRAIN_S = 3.0


class ControllerNode:
    """A controller that is not a broker."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.clock = SystemClock()
        self._store: MetadataStore | None = None
        self._components: ControllerNodeComponents | None = None
        self._store_guard: StoreGuard | None = None
        self._housekeeping: Housekeeping | None = None
        self._failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._metrics_port = -1

    @property
    def components(self) -> ControllerNodeComponents:
        """The running node's components; RuntimeError before `start`."""
        if self._components is None:
            raise RuntimeError("the node has not started")
        return self._components

    async def start(self) -> None:
        """Returns when the controller serves requests and takes part in the election. StartError names the key to
        change; for other failures OSError, RuntimeError, StoreError and KafkaError."""
        scheduler = TaskScheduler(asyncio.get_running_loop(), self.config["signalbox.event.loop.slice.us"])
        store = self._store = await open_store(self.config.values, self.clock, scheduler)
        await reject_unfinished_copy(store, self.config.values)
        await create_roots(store)
        await reject_unsupported_features(store, self.config.values)
        cluster_id = await read_or_create_cluster_id(store)
        components = self._components = await build_controller_node(
            self.config, store, cluster_id, self.clock, scheduler, self._fail
        )
        guard = self._store_guard = StoreGuard(store, self.config, self._fail)
        await guard.start(directories=())
        await components.server.start_listening()
        if components.metrics_page is not None:
            self._metrics_port = await components.metrics_page.start()
        await reject_taken_id(store, self.config, broker_id_path(self.config.node_id), "a broker")
        registration = controller_registration(self.config, components.server.table, self.clock.now_ms())
        await components.registrar.register(registration)
        await components.server.enable()
        await components.controller.start()
        components.lookup.start()
        components.channel.start()
        audit = AuditWriter(
            components.telemetry,
            components.audit_delivery,
            self.config["signalbox.audit.enable"],
            components.server.flush_audit,
        )
        self._housekeeping = Housekeeping(components.scheduler, (), audit)
        self._housekeeping.start(components.epochs.broker_epoch)
        log.info("controller %d of cluster %s is ready", self.config.node_id, cluster_id)

    async def failed(self) -> str:
        """Waits for a fatal failure of the node; returns the reason."""
        return await self._failure

    def describe(self) -> dict[str, Any]:
        """Returns ids and the real addresses, for the program that started the node."""
        table = self.components.server.table
        return {
            "node_id": self.config.node_id,
            "cluster_id": self.components.cluster_id,
            "broker_epoch": self.components.epochs.broker_epoch,
            "listeners": {
                endpoint.listener_name: f"{endpoint.host}:{endpoint.port}" for endpoint in table.controller_endpoints()
            },
            "bound": {row.name: f"{row.host or '127.0.0.1'}:{row.port}" for row in table},
            "metrics": f"http://{self.config['signalbox.metrics.http.host']}:{self._metrics_port}/metrics"
            if self._metrics_port > 0
            else "",
        }

    def work_done(self) -> int:
        """A counter that grows while the node serves requests of others."""
        components = self.components
        return components.scheduler.slices + sum(plane.requests for plane in components.server.planes.values())

    async def stop(self, controlled: bool = True) -> None:
        """Stops everything in the reverse order of the start; also correct after a start that failed half-way."""
        components = self._components
        if components is not None:
            if self._housekeeping is not None:
                await self._housekeeping.stop(_AUDIT_DRAIN_S if controlled else 0.0)
            if self._store_guard is not None:
                await self._store_guard.stop(controlled)
            await components.stop()
        if self._store is not None:
            await self._store.close()
        if components is not None and not components.data_loop.closed:
            components.data_loop.close()

    def _fail(self, reason: str) -> None:
        if not self._failure.done():
            self._failure.set_result(reason)
