"""A node's context without a node: a metadata store in memory, which is empty but for its roots."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.wiring.component import Component, RunningComponents
from signalbox.wiring.node_context import NodeContext, NodeRuntime, read_node_context


@asynccontextmanager
async def context_of(config: NodeConfig) -> AsyncIterator[NodeContext]:
    running, store = RunningComponents(), MemoryMetadataStore(SharedEntries())
    await store.open_session()
    await create_roots(store)
    runtime = NodeRuntime.create(config, lambda reason: None)
    await running.start([Component(name="data loop", stop=runtime.data_loop.close)])
    try:
        yield await read_node_context(runtime, store, "cluster", running)
    finally:
        await running.stop(controlled=False)
        await store.close()
