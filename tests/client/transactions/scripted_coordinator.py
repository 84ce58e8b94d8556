"""A coordinator of transactions over the loopback cluster, whose errors a test can script by API."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from signalbox.protocol.messages.end_txn import EndTxnResponse
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster

LOST = "the connection is closed instead of a response"


class ScriptedCoordinator:
    """`node_id` coordinates everything. `errors[api]`: the errors of the next responses, or LOST. `asked`: the API and
    the node of every request, in order."""

    def __init__(self, cluster: LoopbackCluster) -> None:
        self.node_id = 1
        self.epoch = -1
        self.errors: dict[ApiKey, list[Any]] = defaultdict(list)
        self.asked: list[tuple[ApiKey, int]] = []
        self.requests: list[Any] = []
        handlers: dict[ApiKey, Callable[[Any, Error, LoopbackBroker], Any]] = {
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.INIT_PRODUCER_ID: self._init,
            ApiKey.ADD_PARTITIONS_TO_TXN: self._add_partitions,
            ApiKey.ADD_OFFSETS_TO_TXN: lambda _, error, __: AddOffsetsToTxnResponse(error_code=error),
            ApiKey.TXN_OFFSET_COMMIT: self._commit_offsets,
            ApiKey.END_TXN: lambda _, error, __: EndTxnResponse(error_code=error),
            ApiKey.PRODUCE: lambda request, _, broker: broker.produce(request),
        }
        for broker in cluster.brokers.values():
            for api_key, handler in handlers.items():
                broker.scripts[api_key] = self._script(api_key, broker, handler)

    def count(self, api_key: ApiKey) -> int:
        return sum(key == api_key for key, _ in self.asked)

    def _script(
        self, api_key: ApiKey, broker: LoopbackBroker, handler: Callable[[Any, Error, LoopbackBroker], Any]
    ) -> Callable[[Any, int], Any]:
        def respond(request: Any, version: int) -> Any:
            self.asked.append((api_key, broker.node_id))
            self.requests.append(request)
            error = self.errors[api_key].pop(0) if self.errors[api_key] else Error.NONE
            return None if error is LOST else handler(request, error, broker)

        return respond

    def _find(self, request: Any, error: Error, broker: LoopbackBroker) -> Any:
        host, port = broker.cluster.advertised[self.node_id]
        row = FindCoordinatorResponse.Coordinator(
            key=request.coordinator_keys[0], node_id=self.node_id, host=host, port=port, error_code=error
        )
        return FindCoordinatorResponse(coordinators=[row])

    def _init(self, request: Any, error: Error, broker: LoopbackBroker) -> Any:
        if error:
            return InitProducerIdResponse(error_code=error)
        self.epoch += 1
        return InitProducerIdResponse(producer_id=7, producer_epoch=self.epoch)

    def _add_partitions(self, request: Any, error: Error, broker: LoopbackBroker) -> Any:
        kind = AddPartitionsToTxnResponse
        topics = [
            kind.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    kind.AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=error)
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
        return kind(results_by_topic_v3_and_below=topics)

    def _commit_offsets(self, request: Any, error: Error, broker: LoopbackBroker) -> Any:
        kind = TxnOffsetCommitResponse
        topics = [
            kind.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    kind.TxnOffsetCommitResponsePartition(partition_index=row.partition_index, error_code=error)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return kind(topics=topics)


def with_coordinator(
    test: Callable[[LoopbackCluster, ScriptedCoordinator, ClusterClient], Awaitable[None]], **fields: Any
) -> None:
    """Runs `test` with three loopback brokers, a scripted coordinator and a client with short timeouts."""

    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        async with asyncio.timeout(60):
            await test(cluster, ScriptedCoordinator(cluster), client)

    with_client(run, **fields)
