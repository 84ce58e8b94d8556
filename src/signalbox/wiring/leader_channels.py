"""Followers' connections to their leaders: client's replica channels at the addresses of the metadata cache."""

from __future__ import annotations

from signalbox.client.connect_log import ConnectLog
from signalbox.client.failures import ClientFailure
from signalbox.client.node import Address, Identity
from signalbox.client.replica_channel import ReplicaChannel, open_replica_channel
from signalbox.metadata.cache import MetadataCache
from signalbox.transport.data_loop import DataLoop
from signalbox.wiring.guards import Guards


class LeaderConnector:
    """`replication/leader_channel.Connect`: an open channel to a broker on the inter-broker listener, which has shaken
    hands, identity included (R2)."""

    def __init__(
        self,
        data_loop: DataLoop,
        cache: MetadataCache,
        listener_name: str,
        cluster_id: str,
        guards: Guards,
    ) -> None:
        self._data_loop = data_loop
        self._cache = cache
        self._listener_name = listener_name
        self._cluster_id = cluster_id
        self._guards = guards
        self._logs: dict[int, ConnectLog] = {}

    async def __call__(self, broker_id: int) -> ReplicaChannel:
        endpoint = self._cache.image.nodes(self._listener_name).get(broker_id)
        if endpoint is None:
            raise LookupError(f"broker {broker_id} is not known on listener {self._listener_name}")
        connect_log = self._logs.setdefault(broker_id, ConnectLog(f"follower to broker {broker_id}"))
        try:
            channel = await open_replica_channel(
                self._data_loop,
                Address(endpoint.host, endpoint.port),
                self._guards.inter_broker.secured(self._guards.peers.of(endpoint)),
                Identity(self._cluster_id, broker_id),
            )
        except ClientFailure as failure:
            connect_log.failed(failure)
            raise
        connect_log.succeeded()
        return channel
