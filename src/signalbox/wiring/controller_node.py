"""One dedicated controller (F15): it registers for brokers only, takes part in the controller election, and serves the
requests between brokers and itself.

Start: open the store and read the cluster id; bind the sockets, the metrics page's too; register; serve the sockets;
join the election. Then it is ready, whichever node is elected. Stop: close the connections, leave the election; its
claim, if it has one, ends with the session.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from signalbox.broker.audit_rollups import ROLLUP_WINDOW_S
from signalbox.common.clock import SystemClock
from signalbox.metadata.cluster_id import read_or_create_cluster_id
from signalbox.metadata.layout import broker_id_path, create_roots
from signalbox.metadata.store.port import MetadataStore
from signalbox.wiring.check.taken_ids import reject_taken_id
from signalbox.wiring.configuration import NodeConfig
from signalbox.wiring.controller_node_parts import ControllerNodeParts, build_controller_node
from signalbox.wiring.finalized_features import reject_unsupported_features
from signalbox.wiring.housekeeping import repeat
from signalbox.wiring.metadata_store import open_store, reject_unfinished_copy
from signalbox.wiring.node_registration import controller_registration

log = logging.getLogger(__name__)

_AUDIT_DRAIN_S = 3.0


class ControllerNode:
    """A controller that is not a broker."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.clock = SystemClock()
        self._store: MetadataStore | None = None
        self._parts: ControllerNodeParts | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._metrics_port = -1

    @property
    def parts(self) -> ControllerNodeParts:
        """The running node's parts; RuntimeError before `start`."""
        if self._parts is None:
            raise RuntimeError("the node has not started")
        return self._parts

    async def start(self) -> None:
        """Returns when the controller serves requests and takes part in the election. StartError names the key to
        change; for other failures OSError, RuntimeError, StoreError and KafkaError."""
        store = self._store = await open_store(self.config.values, self.clock)
        await reject_unfinished_copy(store, self.config.values)
        await create_roots(store)
        await reject_unsupported_features(store, self.config.values)
        cluster_id = await read_or_create_cluster_id(store)
        parts = self._parts = await build_controller_node(self.config, store, cluster_id, self.clock, self._fail)
        await parts.server.start_listening()
        if parts.metrics_page is not None:
            self._metrics_port = await parts.metrics_page.start()
        await reject_taken_id(store, self.config, broker_id_path(self.config.node_id), "a broker")
        registration = controller_registration(self.config, parts.server.table, self.clock.now_ms())
        await parts.keeper.register(registration)
        await parts.server.enable()
        await parts.controller.start()
        parts.lookup.start()
        parts.channel.start()
        self._housekeep(parts)
        log.info("controller %d of cluster %s is ready", self.config.node_id, cluster_id)

    async def failed(self) -> str:
        """Waits for a fatal failure of the node; returns the reason."""
        return await self._failure

    def describe(self) -> dict[str, Any]:
        """Returns ids and the real addresses, for the program that started the node."""
        table = self.parts.server.table
        return {
            "node_id": self.config.node_id,
            "cluster_id": self.parts.cluster_id,
            "broker_epoch": self.parts.epochs.broker_epoch,
            "listeners": {each.listener_name: f"{each.host}:{each.port}" for each in table.controller_endpoints()},
            "bound": {row.name: f"{row.host or '127.0.0.1'}:{row.port}" for row in table},
            "metrics": f"http://{self.config['metrics.http.host']}:{self._metrics_port}/metrics"
            if self._metrics_port > 0
            else "",
        }

    def work_done(self) -> int:
        """A counter that grows while the node serves requests of others."""
        parts = self.parts
        return parts.scheduler.slices + sum(plane.requests for plane in parts.server.planes.values())

    async def stop(self, controlled: bool = True) -> None:
        """Stops everything in the reverse order of the start; also correct after a start that failed half-way."""
        parts = self._parts
        if parts is not None:
            await self._end_chores(parts, _AUDIT_DRAIN_S if controlled else 0.0)
            await parts.stop()
        if self._store is not None:
            await self._store.close()
        if parts is not None and not parts.data_loop.closed:
            parts.data_loop.close()

    def _housekeep(self, parts: ControllerNodeParts) -> None:
        chores = [repeat(ROLLUP_WINDOW_S, parts.trail.rollups.flush, parts.scheduler.run)]
        if self.config["audit.enable"]:
            chores.append(parts.trail.audit.write(parts.epochs.broker_epoch, parts.audit_delivery))
        self._tasks = [asyncio.get_running_loop().create_task(chore) for chore in chores]

    async def _end_chores(self, parts: ControllerNodeParts, drain_s: float) -> None:
        """Waits up to `drain_s` seconds until the audit trail is written."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if drain_s and self._tasks and self.config["audit.enable"]:
            parts.trail.rollups.flush()
            parts.server.flush_audit()
            await parts.trail.audit.drain(parts.audit_delivery, drain_s)
        await parts.trail.audit.close()
        await parts.audit_delivery.close()

    def _fail(self, reason: str) -> None:
        if not self._failure.done():
            self._failure.set_result(reason)
