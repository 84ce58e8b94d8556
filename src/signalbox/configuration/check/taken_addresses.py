"""A broker does not start if another broker has registered one of its advertised addresses.

Clients would reach one of the two at random. As in Kafka the configured addresses are compared. Port 0 is not compared:
the real port is known only later, and it may be a former port of a broker that is still registered.
"""

from __future__ import annotations

import logging

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError
from signalbox.common.endpoint import host_port
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import decode_registration
from signalbox.metadata.layout import BROKER_IDS, broker_id_path
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.listeners.listener_entry import ADVERTISED_LISTENERS, LISTENERS
from signalbox.network.listeners.listener_table import ListenerTable

log = logging.getLogger(__name__)


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
        try:
            registration = decode_registration(int(name), entry.data)
        except BadEntry as error:
            log.warning("Corrupt registration ignored by the check of advertised addresses: %s", error)
            continue
        for endpoint in registration.endpoints:
            addresses[endpoint.host.lower(), endpoint.port] = int(name)
    return addresses
