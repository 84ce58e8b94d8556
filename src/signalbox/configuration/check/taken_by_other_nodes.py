"""What another node of the cluster has already: a node does not start with its addresses, nor with its id.

Addresses: clients would reach one of two brokers at random. As in Kafka the configured addresses are compared. Port 0
is not compared: the real port is known only later, and it may be a former port of a broker that is still registered.

Ids: a dedicated controller does not use a broker's id, nor a broker a controller's (F15). Two brokers, or two
controllers, cannot share an id because their registrations have the same path; a broker and a controller have different
paths. The entry of a node that has just ended disappears with its session, so a start waits for that.
"""

from __future__ import annotations

import asyncio
import logging

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.common.endpoint import host_port
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind
from signalbox.metadata.entries.registration import registration_at
from signalbox.metadata.layout import BROKER_IDS, broker_id_path
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.listeners.listener_entry import ADVERTISED_LISTENERS, LISTENERS
from signalbox.network.listeners.listener_table import ListenerTable

log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.2


async def reject_taken_addresses(store: MetadataStore, config: NodeConfig, table: ListenerTable | None = None) -> None:
    """StartError names every advertised address that another broker has registered. `table` has the listeners, if they
    differ from those of server.properties."""
    key = ADVERTISED_LISTENERS if config.originals.get(ADVERTISED_LISTENERS, "").strip() else LISTENERS
    addresses = await _addresses_of_others(store, config.node_id)
    faults = [
        ConfigFault(
            key,
            str(endpoint),
            f"broker {addresses[endpoint.host.lower(), endpoint.port]} is registered with "
            f"{host_port(endpoint.host, endpoint.port)}",
            "Advertise an address of this broker's own",
        )
        for endpoint in (table or config.listeners).advertised_endpoints()
        if endpoint.host and endpoint.port and (endpoint.host.lower(), endpoint.port) in addresses
    ]
    if faults:
        raise StartError(faults)


async def _addresses_of_others(store: MetadataStore, node_id: int) -> dict[tuple[str, int], int]:
    addresses: dict[tuple[str, int], int] = {}
    for name in await store.children(BROKER_IDS):
        if not name.isdecimal() or int(name) == node_id:
            continue
        entry = await store.read(broker_id_path(int(name)))
        if entry is None:
            continue
        path = broker_id_path(int(name))
        registration = CorruptEntries().read(EntryKind.REGISTERED_ADDRESS, path, entry.data, registration_at, None)
        for endpoint in registration.endpoints if registration is not None else ():
            addresses[endpoint.host.lower(), endpoint.port] = int(name)
    return addresses


async def reject_taken_id(store: MetadataStore, config: NodeConfig, path: str, owner_text: str) -> None:
    """StartError when `path`, which belongs to `owner_text`, still exists after two session timeouts."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 2 * config["broker.session.timeout.ms"] / 1000
    while await store.read(path) is not None:
        if loop.time() >= deadline:
            key = "node.id" if config["node.id"] >= 0 else "broker.id"
            remedy = "Give every node of the cluster an id of its own, controllers too"
            raise StartError([ConfigFault(key, str(config.node_id), f"{owner_text} is registered with it", remedy)])
        await asyncio.sleep(_LOOK_AGAIN_S)
