"""Builds a Fetch request without a session from positions, and reads its response: rows by partition, records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from signalbox.client.aborted_transactions import ISOLATION_LEVELS, AbortedTransactions
from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.records.batch_header import check_crc, iter_batch_headers
from signalbox.protocol.records.record_batch import Record, records_of

if TYPE_CHECKING:
    from signalbox.client.consumer import ConsumerSettings


class ConsumedRecord(NamedTuple):
    """One record as `poll` returns it. `timestamp_ms`: since 1970, as the topic's message.timestamp.type says."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def fetch_request(offsets: dict[TopicPartition, int], view: MetadataView, settings: ConsumerSettings) -> FetchRequest:
    """Topics with name and id: the version decides which one is sent."""
    topics: dict[str, list[FetchRequest.FetchPartition]] = {}
    for partition, offset in offsets.items():
        row = FetchRequest.FetchPartition(
            partition=partition.partition,
            fetch_offset=offset,
            partition_max_bytes=settings.max_partition_fetch_bytes,
        )
        topics.setdefault(partition.topic, []).append(row)
    return FetchRequest(
        max_wait_ms=settings.fetch_max_wait_ms,
        min_bytes=settings.fetch_min_bytes,
        max_bytes=settings.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[settings.isolation_level],
        topics=[
            FetchRequest.FetchTopic(
                topic=name,
                topic_id=view.topics[name].topic_id if name in view.topics else ZERO_UUID,
                partitions=rows,
            )
            for name, rows in topics.items()
        ],
    )


def rows_by_partition(response: Any, view: MetadataView) -> dict[TopicPartition, Any]:
    """The rows of a FetchResponse by partition; KafkaError when it has a top-level error that is not retriable."""
    error = Error.of(response.error_code)
    if error != Error.NONE and not error.retriable:
        raise rejection_of(error)
    rows = {}
    for topic in response.responses:
        name = topic.topic or view.name_of(topic.topic_id)
        if name is not None:
            for row in topic.partitions:
                rows[TopicPartition(name, row.partition_index)] = row
    return rows


def records_in(
    row: Any, partition: TopicPartition, offset: int, check_crcs: bool
) -> Iterator[tuple[list[ConsumedRecord], int]]:
    """(records from `offset` on, offset after the batch) of each batch in a row of a response; no records of
    control batches and of aborted transactions. KafkaError for a batch that cannot be read."""
    view = memoryview(row.records or b"")
    aborted = AbortedTransactions(row.aborted_transactions or ())
    for header in iter_batch_headers(view, allow_partial_tail=True):
        if check_crcs and not check_crc(view, header):
            raise rejection_of(Error.CORRUPT_MESSAGE, f"{partition}: the batch at {header.base_offset} is corrupt")
        hidden = aborted.hides(view, header)
        records = [] if hidden else [record for record in records_of(view, header) if record.offset >= offset]
        yield [_consumed(partition, record) for record in records], header.next_offset


def _consumed(partition: TopicPartition, row: Record) -> ConsumedRecord:
    headers = tuple(row.headers)
    return ConsumedRecord(partition.topic, partition.partition, row.offset, row.timestamp, row.key, row.value, headers)
