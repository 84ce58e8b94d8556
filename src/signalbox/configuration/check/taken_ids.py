"""A node id belongs to one node: a dedicated controller does not use a broker's id, nor a broker a controller's (F15).

Two brokers, or two controllers, cannot share an id because their registrations have the same path; a broker and a
controller have different paths. The entry of a node that has just ended disappears with its session, so a start waits
for that.
"""

from __future__ import annotations

import asyncio

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.store.port import MetadataStore

_LOOK_AGAIN_S = 0.2


async def reject_taken_id(store: MetadataStore, config: NodeConfig, path: str, owner_text: str) -> None:
    """StartError when `path`, which belongs to `whose`, still exists after two session timeouts."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 2 * config["broker.session.timeout.ms"] / 1000
    while await store.read(path) is not None:
        if loop.time() >= deadline:
            key = "node.id" if config["node.id"] >= 0 else "broker.id"
            remedy = "Give every node of the cluster an id of its own, controllers too"
            raise StartError([ConfigFault(key, str(config.node_id), f"{owner_text} is registered with it", remedy)])
        await asyncio.sleep(_LOOK_AGAIN_S)
