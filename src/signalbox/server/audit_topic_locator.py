"""Locates the audit topic: a broker's events go to its own inter-broker listener, those of a dedicated controller to
the inter-broker listener of any live broker. The brokers create the topic; until a broker is registered, events of
controllers wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from signalbox.client.client_settings import ClientSettings
from signalbox.client.connection.node import Address
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.endpoint import Endpoint
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.corrupt_entries import readable
from signalbox.metadata.entries.registration import registration_at
from signalbox.metadata.layout import BROKER_IDS
from signalbox.metadata.store.port import MetadataStore
from signalbox.network.listeners.listener_table import ListenerTable
from signalbox.protocol.error_table import Error

_METADATA_WAIT_S = 5.0


async def created_audit_topic(
    cache: MetadataCache, create: Callable[[], Awaitable[tuple[int, str]]]
) -> tuple[int, str]:
    """The result of `create`, (error code, message); (0, "") without it if this broker's metadata has the topic. It
    waits for metadata first: a broker that has just started has none, and would create the topic at each start."""
    await cache.wait_until(lambda image: bool(image.brokers), _METADATA_WAIT_S)
    return (0, "") if AUDIT_TOPIC in cache.image.topics else await create()


class AuditTopicLocator:
    """`TopicDelivery` calls `find`, then `settings`, when it opens."""

    def __init__(self, store: MetadataStore, config: NodeConfig, peers: PeerSecurity) -> None:
        self._store = store
        self._config = config
        self._peers = peers
        self._endpoints: list[Endpoint] = []

    async def find(self) -> tuple[int, str]:
        """Look up the registered brokers. Returns (error code, message); the code is 0 if there is at least one."""
        own = self._config.listeners.inter_broker_listener_name
        endpoints = []
        for path, entry in (await self._store.read_tree(BROKER_IDS)).items():
            if path == BROKER_IDS or entry.data is None:
                continue
            registration = readable(registration_at, path, entry.data)
            if registration is None:
                continue  # the controller reports it
            endpoint = registration.endpoint(registration.inter_broker_listener or own)
            endpoints += [endpoint] if endpoint is not None else []
        # In a rolling change the brokers' listeners may differ; one client uses one listener name and its security.
        first = endpoints[:1]
        self._endpoints = (
            [endpoint for endpoint in endpoints if endpoint.listener_name == first[0].listener_name] if first else []
        )
        return (0, "") if endpoints else (int(Error.BROKER_NOT_AVAILABLE), "no broker is there yet")

    def settings(self) -> ClientSettings:
        """Client settings for the brokers that `find` returned."""
        return ClientSettings(
            bootstrap=[Address(endpoint.host, endpoint.port) for endpoint in self._endpoints],
            client_id=f"signalbox-audit-{self._config.node_id}",
            security=self._peers.of(self._endpoints[0]),
        )


def own_client_settings(table: ListenerTable, node_id: int, peers: PeerSecurity) -> ClientSettings:
    """Client settings for the inter-broker listener of this broker."""
    endpoint = table.row(table.inter_broker_listener_name).advertised
    assert endpoint is not None
    return ClientSettings(
        bootstrap=[Address(endpoint.host, endpoint.port)],
        client_id=f"signalbox-audit-{node_id}",
        security=peers.of(endpoint),
    )
