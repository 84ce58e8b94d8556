"""Offsets of partitions at their leaders: ListOffsets (earliest, latest, by time) and DeleteRecords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from signalbox.client.aborted_transactions import READ_UNCOMMITTED
from signalbox.client.admin_apis.admin_call import AdminCall, left_ms
from signalbox.client.failures import ClientFailure
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest

LATEST, EARLIEST = -1, -2
_STALE_VIEW = (
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.LEADER_NOT_AVAILABLE,
    Error.FENCED_LEADER_EPOCH,
    Error.UNKNOWN_LEADER_EPOCH,
    Error.OFFSET_NOT_AVAILABLE,
)


class OffsetAdmin(AdminCall):
    async def list_offsets(
        self,
        partitions: Iterable[TopicPartition],
        timestamp: int = LATEST,
        *,
        isolation_level: int = READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, int]:
        """The offset of each partition for `timestamp` (ms, LATEST or EARLIEST); -1 where no record is that recent.
        With READ_COMMITTED, LATEST is the last stable offset."""
        message_type = ListOffsetsRequest
        results = {}
        deadline = self.client.deadline(timeout_ms)
        for partition in partitions:
            row = message_type.ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp)
            request = message_type(
                replica_id=-1,
                isolation_level=isolation_level,
                topics=[message_type.ListOffsetsTopic(name=partition.topic, partitions=[row])],
            )
            response = await self._at_leader(partition, request, deadline, _topics_of)
            results[partition] = int(response.offset)
        return results

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset (-1: before the high watermark); returns the new low watermarks."""
        message_type = DeleteRecordsRequest
        results = {}
        deadline = self.client.deadline(timeout_ms)
        for partition, offset in before.items():
            row = message_type.DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
            request = message_type(
                topics=[message_type.DeleteRecordsTopic(name=partition.topic, partitions=[row])],
                timeout_ms=self._wire_timeout_ms(left_ms(deadline)),
            )
            response = await self._at_leader(partition, request, deadline, _topics_of)
            results[partition] = int(response.low_watermark)
        return results

    async def _at_leader(self, partition: TopicPartition, request: Any, deadline: float, topics_of: Any) -> Any:
        """The partition's row in its leader's response, whose topics `topics_of` returns; the leader is looked up again
        before each retry."""
        tries = 0
        while True:
            node = await self.client.leader_of(partition, deadline)
            try:
                response = await self.client.request(node.node_id, request, timeout_ms=left_ms(deadline))
                row = _row_of(partition, topics_of(response))
                if row.error_code == Error.NONE:
                    return row
                error = Error.of(row.error_code)
                rejection: ClientFailure = rejection_of(error, f"{partition}: {error.message}")
                retriable = row.error_code in _STALE_VIEW
            except ClientFailure as failure:
                rejection, retriable = failure, failure.retriable
            if not retriable or left_ms(deadline) <= 0:
                raise rejection
            self.client.metadata_updater.refresh_soon([partition.topic])
            tries += 1
            await self.client.pause(tries, deadline)


def _topics_of(response: Any) -> Any:
    return response.topics


def _row_of(partition: TopicPartition, topics: Iterable[Any]) -> Any:
    """The row of this partition; ClientFailure when a broker leaves it out."""
    for topic in topics:
        for row in topic.partitions:
            if (topic.name, row.partition_index) == partition:
                return row
    raise ClientFailure(f"the broker did not answer for {partition}")
