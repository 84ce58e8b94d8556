"""A broker whose advertised address another one has registered does not start.

Clients would be led to one of the two at random. As in Kafka the configured addresses are compared: a port 0 is known
only later, and what it becomes may have been a port of a broker that is not forgotten yet.
"""

from __future__ import annotations

import logging

from signalbox.common.config_table import ConfigFault
from signalbox.common.endpoint import host_port
from signalbox.common.start_refused import StartRefused
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import BROKER_IDS, broker_id_path
from signalbox.metadata.registration import decode_registration
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.listener_entry import ADVERTISED_LISTENERS, LISTENERS
from signalbox.network.listener_table import ListenerTable
from signalbox.wiring.configuration import NodeConfig

log = logging.getLogger(__name__)


async def refuse_taken_addresses(store: MetadataStore, config: NodeConfig, table: ListenerTable | None = None) -> None:
    """StartRefused names every advertised address that another broker is registered with. `table` has the listeners
    where they are not those of server.properties alone."""
    key = ADVERTISED_LISTENERS if config.given.get(ADVERTISED_LISTENERS, "").strip() else LISTENERS
    taken = await _addresses_of_others(store, config.node_id)
    faults = [
        ConfigFault(
            key,
            str(endpoint),
            f"broker {taken[endpoint.host.lower(), endpoint.port]} is registered with "
            f"{host_port(endpoint.host, endpoint.port)}",
            "Advertise an address of this broker's own",
        )
        for endpoint in (table or config.listeners).advertised_endpoints()
        if endpoint.host and endpoint.port and (endpoint.host.lower(), endpoint.port) in taken
    ]
    if faults:
        raise StartRefused(faults)


async def _addresses_of_others(store: MetadataStore, node_id: int) -> dict[tuple[str, int], int]:
    taken: dict[tuple[str, int], int] = {}
    for name in await store.children(BROKER_IDS):
        if not name.isdecimal() or int(name) == node_id:
            continue
        entry = await store.read(broker_id_path(int(name)))
        if entry is None:
            continue
        try:
            registration = decode_registration(int(name), entry.data)
        except BadEntry as error:
            log.warning("%s", error)
            continue
        for endpoint in registration.endpoints:
            taken[endpoint.host.lower(), endpoint.port] = int(name)
    return taken
