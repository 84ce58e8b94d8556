"""Followers' connections to their leaders: replica channels of the client package, to the addresses in the metadata
cache, on the listener that the leader's registration names. While listeners are rolled, it may differ from this
broker's own (L12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.client.connection.connect_log import ConnectLog
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import ClientFailure
from signalbox.client.inter_broker.replica_channel import ReplicaChannel, open_replica_channel
from signalbox.common.endpoint import Endpoint
from signalbox.configuration.security_config import SecurityConfig
from signalbox.metadata.cache import MetadataCache
from signalbox.transport.data_loop import DataLoop


class LeaderConnector:
    """Implements `replication/follower/leader_channel.Connect`: an open channel to a broker on its inter-broker
    listener, after the handshake, identity included (R2). `listeners_of` returns a broker's usable listener names in
    order of preference; a listener for which this broker has no address or no security settings is skipped."""

    def __init__(
        self,
        data_loop: DataLoop,
        cache: MetadataCache,
        listeners_of: Callable[[int], Iterable[str]],
        cluster_id: str,
        security: SecurityConfig,
    ) -> None:
        self._data_loop = data_loop
        self._cache = cache
        self._listeners_of = listeners_of
        self._cluster_id = cluster_id
        self._security = security
        self._logs: dict[int, ConnectLog] = {}

    async def __call__(self, broker_id: int) -> ReplicaChannel:
        address, settings = self.locate(broker_id)
        connect_log = self._logs.setdefault(broker_id, ConnectLog(f"follower to broker {broker_id}"))
        try:
            channel = await open_replica_channel(
                self._data_loop, address, settings, Identity(self._cluster_id, broker_id)
            )
        except ClientFailure as failure:
            connect_log.failed(failure)
            raise
        connect_log.succeeded()
        return channel

    def locate(self, broker_id: int) -> tuple[Address, ConnectionSettings]:
        """The broker's inter-broker address as of now, and the settings of a connection to it. LookupError without an
        address."""
        endpoint = self._endpoint(broker_id)
        settings = self._security.inter_broker.secured(self._security.peers.of(endpoint))
        return Address(endpoint.host, endpoint.port), settings

    def _endpoint(self, broker_id: int) -> Endpoint:
        names = list(self._listeners_of(broker_id))
        nodes = [self._cache.image.nodes(name).get(broker_id) for name in names]
        endpoints = [endpoint for endpoint in nodes if endpoint is not None]
        if not endpoints:
            raise LookupError(f"broker {broker_id} is not known on listener {' or '.join(names)}")
        return next(
            (endpoint for endpoint in endpoints if not self._security.peers.of(endpoint).unusable), endpoints[0]
        )
