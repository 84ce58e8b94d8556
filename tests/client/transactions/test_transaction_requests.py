"""The requests of a transactional id: which errors are retried, and which are final."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.rejections import RequestRejected
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_requests import TransactionRequests
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.testing.cluster import Cluster

pytestmark = pytest.mark.spec("D5", "R10")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as running:
        yield running


def settings(cluster: Cluster, api_timeout_ms: float = 60_000) -> ClientSettings:
    return ClientSettings.of(cluster.bootstrap_servers, api_timeout_ms=api_timeout_ms)


def test_each_producer_gets_the_next_epoch_and_its_own_again(cluster: Cluster) -> None:
    async def main() -> None:
        async with ClusterClient(settings(cluster)) as client:
            requests = TransactionRequests(client, "epochs", 60_000)
            first = await requests.init(None)
            second = await requests.init(first)
            assert (second.producer_id, second.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
            assert second.transactional_id == "epochs"
            with pytest.raises(RequestRejected) as rejected:
                await requests.end(ProducerIdentity(first.producer_id, 30, None), committed=True)
            assert rejected.value.error is Error.PRODUCER_FENCED

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_timeout_that_is_too_long_is_final(cluster: Cluster) -> None:
    async def main() -> None:
        async with ClusterClient(settings(cluster)) as client:
            with pytest.raises(RequestRejected) as rejected:
                await TransactionRequests(client, "long", 900_001).init(None)
            assert rejected.value.error is Error.INVALID_TRANSACTION_TIMEOUT

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_partition_that_does_not_exist_is_waited_for_until_the_deadline(cluster: Cluster) -> None:
    async def main() -> None:
        async with ClusterClient(settings(cluster)) as patient:
            identity = await TransactionRequests(patient, "nowhere", 60_000).init(None)
        async with ClusterClient(settings(cluster, api_timeout_ms=2_000)) as client:
            requests = TransactionRequests(client, "nowhere", 60_000)
            with pytest.raises(RequestRejected) as rejected:
                await requests.add_partitions(identity, [TopicPartition("nowhere", 0)])
            assert rejected.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(asyncio.wait_for(main(), 60))
