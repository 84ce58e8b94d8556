"""One node, a broker or a dedicated controller: it opens the metadata store, builds the components, starts them in the
order of their list, and stops them in the reverse order (`component.py`).

The lists are in `broker_node.py` and `controller_node.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import open_store, reject_unfinished_copy
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.port import MetadataStore
from signalbox.server.store.finalized_features import reject_unsupported_features
from signalbox.wiring.component import Component, RunningComponents
from signalbox.wiring.node_components import NodeComponents
from signalbox.wiring.node_context import NodeContext, NodeRuntime, read_node_context

log = logging.getLogger(__name__)

C = TypeVar("C", bound=NodeComponents)


class Node(Generic[C]):
    """`build` returns the components, of which none has started; `component_list` the order of their start."""

    def __init__(
        self, config: NodeConfig, build: Callable[[NodeContext], C], component_list: Callable[[C], list[Component]]
    ) -> None:
        self.config = config
        self._build = build
        self._component_list = component_list
        self._running = RunningComponents()
        self._components: C | None = None
        self._failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def components(self) -> C:
        """The node's components; RuntimeError before they are built."""
        if self._components is None:
            raise RuntimeError("the node has not started")
        return self._components

    async def start(self) -> None:
        """Returns when the node is ready: a broker is a live member of its cluster, a controller takes part in the
        election. After a failure nothing is left running. StartError names the key to change; for other failures
        OSError, RuntimeError, StoreError and KafkaError."""
        running = self._running
        async with running.stopped_on_failure():
            runtime = NodeRuntime.create(self.config, self._fail)
            await running.start([Component(name="data loop", stop=runtime.data_loop.close)])
            store = await open_store(self.config.values, runtime.clock, runtime.scheduler.beside())
            await running.start([Component(name="metadata store", stop=store.close)])
            cluster_id = await self._read_cluster_id(store)
            context = await read_node_context(runtime, store, cluster_id, running)
            self._components = self._build(context)
            await running.start(self._component_list(self._components))
        role = "broker" if self.config.runs_broker else "controller"
        log.info("%s %d of cluster %s is ready", role, self.config.node_id, cluster_id)

    async def _read_cluster_id(self, store: MetadataStore) -> str:
        await reject_unfinished_copy(store, self.config.values)
        await reject_unsupported_features(store, self.config.values)
        await create_roots(store)
        return await read_or_create_cluster_id(store)

    async def stop(self, controlled: bool = True) -> None:
        """Stops everything in the reverse order of the start; does nothing before a start, and after one that failed.
        The first error of a component, after all have been stopped."""
        await self._running.stop(controlled)

    async def failed(self) -> str:
        """Waits for a fatal failure of the node; returns the reason."""
        return await self._failure

    def describe(self) -> dict[str, Any]:
        """Returns ids and the real addresses, for the program that started the node."""
        components = self.components
        table, page = components.server.table, components.metrics_page
        endpoints = [row.advertised for row in table if row.advertised is not None]
        return {
            "node_id": self.config.node_id,
            "cluster_id": components.cluster_id,
            "broker_epoch": components.epochs.broker_epoch,
            "listeners": {endpoint.listener_name: f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints},
            "bound": {row.name: f"{row.host or '127.0.0.1'}:{row.port}" for row in table},
            "metrics": "" if page is None else page.url,
        }

    def work_done(self) -> int:
        """A counter that grows while the node has work."""
        components = self.components
        requests = sum(plane.requests for plane in components.server.planes.values())
        return components.data_loop.iterations + components.scheduler.slices + requests

    def _fail(self, reason: str) -> None:
        if not self._failure.done():
            self._failure.set_result(reason)
