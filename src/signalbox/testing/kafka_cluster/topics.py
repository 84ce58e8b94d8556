"""The topics of a test cluster, and what is in them: asked by the kit itself, past all faults."""

from __future__ import annotations

import asyncio
import time

from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.sync.sync_client import SyncClient
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.metadata import MetadataRequest

_TIMEOUT_S = 60.0
_PAUSE_S = 0.002


class Topics:
    """Created topics have as many replicas as there are brokers, at most three. Partition 0 is led by broker 1,
    partition 1 by broker 2, and so on in turn."""

    def __init__(self, client: SyncClient, brokers: int) -> None:
        self._client = client
        self._brokers = brokers
        self._replicas = min(3, brokers)

    def create(self, name: str, partitions: int = 1) -> None:
        """Creates a topic; returns when every broker that runs has it in its Metadata. KafkaError if it is rejected."""
        assignments = {
            partition: [(partition + replica) % self._brokers + 1 for replica in range(self._replicas)]
            for partition in range(partitions)
        }
        new = NewTopic(name=name, assignments=assignments)
        self._client.call(self._create, new)

    async def _create(self, new: NewTopic) -> None:
        admin = self._client.admin
        results, cluster = await asyncio.gather(admin.create_topics([new]), admin.describe_cluster())
        results[new.name].raise_for_error()
        await asyncio.gather(*(self._until_shown(node.node_id, new.name) for node in cluster.nodes))

    async def _until_shown(self, node_id: int, name: str) -> None:
        """Waits until the topic is in the Metadata of a broker."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not await self._is_in_metadata_of(node_id, name):
            if time.monotonic() > deadline:
                raise RuntimeError(f"broker {node_id} does not have the topic {name} after {_TIMEOUT_S:.0f} s")
            await asyncio.sleep(_PAUSE_S)

    async def _is_in_metadata_of(self, node_id: int, name: str) -> bool:
        topics = [MetadataRequest.MetadataRequestTopic(name=name)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        response = await self._client.admin.client.request(node_id, request)
        rows = [row.error_code for topic in response.topics for row in (topic, *topic.partitions)]
        return bool(response.topics) and not any(rows)

    def leaders(self, name: str) -> dict[int, int]:
        """The leader of each partition, -1 for none."""
        topics = self._client.call(self._client.admin.describe_topics, [name])
        return {index: row.leader_id for index, row in topics[name].partitions.items()}

    def records(self, name: str) -> dict[int, list[ConsumedRecord]]:
        """All records of a topic by partition, up to the ends that the partitions have now."""
        partitions = [TopicPartition(name, partition) for partition in self.leaders(name)]
        ends = self._client.call(self._client.admin.list_offsets, partitions, LATEST)
        left = {partition: end for partition, end in ends.items() if end > 0}
        found: dict[int, list[ConsumedRecord]] = {each.partition: [] for each in partitions}
        with self._client.consumer() as consumer:
            consumer.assign(dict.fromkeys(left, EARLIEST))
            while any(consumer.position(partition) < end for partition, end in left.items()):
                for record in consumer.poll(100):
                    found[record.partition].append(record)
        return found
