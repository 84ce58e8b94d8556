from __future__ import annotations

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.sender.producer_ids import ProducerIds
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster


def test_an_id_is_kept_until_it_is_spent_or_the_cluster_is_another() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        ids = ProducerIds(client)
        first = await ids.have(set())
        assert first is not None
        assert await ids.have({-1}) is first
        second = await ids.have({first.producer_id})
        assert second is not None
        assert (second.producer_id, second.cluster_id) == (first.producer_id + 1, "cluster-A")
        client.view.cluster_id = "cluster-B"
        third = await ids.have(set())
        assert third is not None
        assert third.cluster_id == "cluster-B"

    with_client(test, size=1)


def test_a_rejection_is_raised() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.brokers[1].scripts[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(
            error_code=Error.CLUSTER_AUTHORIZATION_FAILED
        )
        with pytest.raises(KafkaError, match="no producer id"):
            await ProducerIds(client).have(set())

    with_client(test, size=1)
