"""A node id stands for one node: a dedicated controller does not take a broker's, nor a broker a controller's (F15).

Two brokers, or two controllers, cannot share one because their registrations have one path; these two stand at
different paths. The entry of a node that has just ended goes with its session, so it is waited for.
"""

from __future__ import annotations

import asyncio

from signalbox.common.config_table import ConfigFault
from signalbox.common.start_refused import StartRefused
from signalbox.metadata.store.port import MetadataStore
from signalbox.wiring.configuration import NodeConfig

_LOOK_AGAIN_S = 0.2


async def refuse_taken_id(store: MetadataStore, config: NodeConfig, path: str, whose: str) -> None:
    """StartRefused when `path`, which would be `whose`, is still there after two session timeouts."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 2 * config["broker.session.timeout.ms"] / 1000
    while await store.read(path) is not None:
        if loop.time() >= deadline:
            key = "node.id" if config["node.id"] >= 0 else "broker.id"
            remedy = "Give every node of the cluster an id of its own, controllers too"
            raise StartRefused([ConfigFault(key, str(config.node_id), f"{whose} is registered with it", remedy)])
        await asyncio.sleep(_LOOK_AGAIN_S)
