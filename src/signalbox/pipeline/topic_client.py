"""Requests of the pipeline to a Kafka cluster outside Spark: topics, their ids and end offsets, records of a range.

Uses confluent-kafka: of the two available clients it reads a range several times faster (librdkafka fetches,
decompresses and checks in C, ahead of the reader), and it supports every compression, TLS and SASL mechanism. Messages
become Arrow columns, the format that Spark takes without a conversion per row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import pyarrow as pa
from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.client.first_contact import FirstContact, NoContactError
from signalbox.pipeline.client.login_tokens import with_token_callback
from signalbox.pipeline.offsets import DataLossError, OffsetMap, OffsetRange
from signalbox.security.oauth.login_token import TokenUnavailable

C = TypeVar("C")
R = TypeVar("R")

REQUEST_TIMEOUT_SECONDS = 30.0
STALL_TIMEOUT_SECONDS = 120.0
ELECTION_POLL_SECONDS = 0.2
ARROW_BATCH_RECORDS = 20_000
ARROW_BATCH_BYTES = 32 * 1024 * 1024  # an Arrow column of more than 2 GiB of bytes cannot be made

HEADER_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
RECORD_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("headers", HEADER_TYPE),
    ]
)

_LEADER_IS_MOVING = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError._TRANSPORT,
}
# A topic that one broker has described and that another broker does not have in its metadata yet.
_NOT_YET_KNOWN = {*_LEADER_IS_MOVING, KafkaError.UNKNOWN_TOPIC_OR_PART}

_READER_SETTINGS: dict[str, Any] = {
    "group.id": "signalbox-pipeline",  # librdkafka requires one and looks up its coordinator; no member joins the group
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
    "isolation.level": "read_committed",
    "check.crcs": True,
    "fetch.max.bytes": 67_108_864,
    "max.partition.fetch.bytes": 8_388_608,
    "fetch.wait.max.ms": 20,  # a fetch that waits at the end of one range would hold up the next range
    "fetch.queue.backoff.ms": 5,  # the default of 1,000 makes a fast reader sleep
    "queued.max.messages.kbytes": 65_536,
}


class TopicError(RuntimeError):
    """A topic that cannot be read. `leader_is_moving`: it can be read after the current election."""

    def __init__(self, message: str, *, leader_is_moving: bool = False) -> None:
        super().__init__(message)
        self.leader_is_moving = leader_is_moving


def _quiet(_: KafkaError) -> None:
    """Ignores librdkafka's connection messages: the call that fails raises the error."""


def _answered(answer: Future[Any], topic: str, moving_codes: Collection[int] = _LEADER_IS_MOVING) -> Any:
    try:
        return answer.result(REQUEST_TIMEOUT_SECONDS + 5)
    except KafkaException as fault:
        text, moving = fault.args[0].str(), fault.args[0].code() in moving_codes
        raise TopicError(f"topic {topic} cannot be read: {text}", leader_is_moving=moving) from fault
    except TimeoutError as fault:
        raise TopicError(f"topic {topic} cannot be read: no answer in {REQUEST_TIMEOUT_SECONDS:.0f} s") from fault


# The call that fails raises the error; a cached reader whose broker stopped would write to the terminal.
_SILENCE: dict[str, Any] = {"error_cb": _quiet, "log_level": 0}


class TopicClient:
    """Metadata and offset requests to a cluster: one admin connection, opened at the first request.

    `client_options`: librdkafka's settings, as `client/librdkafka_settings.py` returns them.
    """

    def __init__(self, bootstrap_servers: str, client_options: Mapping[str, str], client_id: str) -> None:
        self._contact = FirstContact()
        self._settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": client_id,
            **client_options,
            **_SILENCE,
            "error_cb": self._contact.on_error,
        }
        self._client: AdminClient | None = None

    @property
    def _admin(self) -> AdminClient:
        if self._client is None:
            self._client = _made(AdminClient, self._settings)
        self._client.poll(0)  # serves the callback that renews an access token
        return self._client

    def partitions(self, topics: list[str]) -> tuple[dict[str, str], list[TopicPartition]]:
        """Topic ids and all partitions of the topics. Raises TopicError naming a topic that does not exist."""
        answers = self._admin.describe_topics(TopicCollection(topics), request_timeout=REQUEST_TIMEOUT_SECONDS)
        topic_ids: dict[str, str] = {}
        partitions: list[TopicPartition] = []
        self._reached(next(iter(answers.values())), f"topic {', '.join(topics)} cannot be read")
        for topic, answer in answers.items():
            description = _answered(answer, topic)
            topic_ids[topic] = str(description.topic_id)
            partitions += [TopicPartition(topic, partition.id) for partition in description.partitions]
        return topic_ids, partitions

    def topic_names(self) -> list[str]:
        """The names of all topics, with the internal ones. Raises TopicError."""
        answer = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_SECONDS)
        self._reached(answer, "the list of topics cannot be read")
        try:
            return sorted(self._admin.list_topics(timeout=REQUEST_TIMEOUT_SECONDS).topics)
        except KafkaException as fault:
            raise TopicError(f"the list of topics cannot be read: {fault.args[0].str()}") from fault

    def _reached(self, answer: Future[Any], failure: str) -> None:
        try:
            self._contact.wait(answer, self._admin.poll)
        except NoContactError as fault:
            raise TopicError(f"{failure}: {fault}") from fault

    def offsets(self, topics: list[str], position: str | int) -> OffsetMap:
        """The "earliest" or "latest" offsets of all partitions, or those at a time in milliseconds: of the first record
        that is not older, else the latest. Latest is the last stable offset.

        Waits for an election in progress. Raises TopicError.
        """
        return self._after_election(lambda: self._offsets(topics, position))

    def topic_id(self, topic: str) -> str:
        """The id of a topic now. Waits for an election in progress. Raises TopicError."""
        return self._after_election(lambda: self.partitions([topic]))[0][topic]

    def _after_election(self, request: Callable[[], R]) -> R:
        deadline = time.monotonic() + REQUEST_TIMEOUT_SECONDS
        while True:
            try:
                return request()
            except TopicError as fault:
                if not fault.leader_is_moving or time.monotonic() > deadline:
                    raise
            time.sleep(ELECTION_POLL_SECONDS)

    def _offsets(self, topics: list[str], position: str | int) -> OffsetMap:
        topic_ids, partitions = self.partitions(topics)
        if isinstance(position, int):
            spec = OffsetSpec.for_timestamp(position)
        else:
            spec = getattr(OffsetSpec, position)()
        request = {ClientPartition(tp.topic, tp.partition): spec for tp in partitions}
        answers = self._admin.list_offsets(
            request,
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=REQUEST_TIMEOUT_SECONDS,
        )
        offsets = {}
        for client_partition, answer in answers.items():
            tp = TopicPartition(client_partition.topic, client_partition.partition)
            offsets[tp] = int(_answered(answer, tp.topic, _NOT_YET_KNOWN).offset)
        if any(offset < 0 for offset in offsets.values()):  # no record is as new as the time
            latest = self._offsets(topics, "latest").next_offsets
            offsets = {tp: offset if offset >= 0 else latest[tp] for tp, offset in offsets.items()}
        return OffsetMap(topic_ids, offsets)


def new_reader(bootstrap_servers: str, client_options: Mapping[str, str], client_id: str) -> Consumer:
    """A consumer for `read_ranges`: no group, no commits, an error where an offset is out of range."""
    settings = {"bootstrap.servers": bootstrap_servers, "client.id": client_id, **_READER_SETTINGS, **client_options}
    return _made(Consumer, {**settings, **_SILENCE})


def _made(client: Callable[[dict[str, Any]], C], settings: dict[str, Any]) -> C:
    """A client of confluent-kafka. TopicError if librdkafka rejects a setting or the source of tokens fails."""
    try:
        return client(with_token_callback(settings))
    except (KafkaException, ValueError, OSError, TokenUnavailable) as fault:
        reason = fault.args[0].str() if isinstance(fault, KafkaException) else str(fault)
        raise TopicError(f"no client for the cluster can be made: {reason}") from fault


def _fault(error: KafkaError, part: OffsetRange) -> Exception:
    where = f"{part.topic}-{part.partition}"
    offsets = f"topic {part.topic}, partition {part.partition}, offsets {part.start_offset} to {part.end_offset - 1}"
    if error.code() in (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET):
        return DataLossError(f"records of {where} that were to be read are gone: {error.str()} ({offsets})")
    return TopicError(f"records of {where} cannot be read: {error.str()} ({offsets})")


class _Columns:
    """Records on the way into Arrow columns."""

    def __init__(self) -> None:
        self.rows: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self.rows[4])

    def add(self, message: Any, offset: int) -> None:
        keys, values, topics, partitions, offsets, timestamps, headers = self.rows
        key, value = message.key(), message.value()
        keys.append(key)
        values.append(value)
        self.size_bytes += len(key or b"") + len(value or b"")
        topics.append(message.topic())
        partitions.append(message.partition())
        offsets.append(offset)
        kind, timestamp_ms = message.timestamp()
        timestamps.append(timestamp_ms * 1000 if kind else None)
        carried = message.headers()
        headers.append([{"key": name, "value": content} for name, content in carried] if carried else None)
        if carried:
            self.size_bytes += sum(len(name) + len(content or b"") for name, content in carried)

    def take(self) -> pa.RecordBatch:
        arrays = [pa.array(rows, type=column.type) for rows, column in zip(self.rows, RECORD_SCHEMA)]
        self.__init__()  # type: ignore[misc]
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)


def read_ranges(
    reader: Consumer,
    ranges: list[OffsetRange],
    *,
    batch_records: int = ARROW_BATCH_RECORDS,
    batch_bytes: int = ARROW_BATCH_BYTES,
    stall_timeout_seconds: float = STALL_TIMEOUT_SECONDS,
) -> Iterator[pa.RecordBatch]:
    """The records of the ranges, each partition in order. Offsets may have holes (compaction, markers). A batch ends at
    `batch_records` records or behind the record with which it has `batch_bytes` of keys, values and headers.

    Raises DataLossError if the first records no longer exist, TopicError if they cannot be read, TimeoutError if
    nothing arrives for the stall timeout.
    """
    parts = {(part.topic, part.partition): part for part in ranges}
    ends = {where: part.end_offset for where, part in parts.items()}
    remaining = sum(part.count for part in ranges)
    columns = _Columns()
    reader.assign([ClientPartition(part.topic, part.partition, part.start_offset) for part in ranges])
    try:
        moved_at = time.monotonic()
        while ends:
            # consume() waits until it has as many messages as requested: do not request more than remain.
            messages = reader.consume(num_messages=max(1, min(batch_records, remaining, 1000)), timeout=0.2)
            if messages:
                moved_at = time.monotonic()
            elif time.monotonic() - moved_at > stall_timeout_seconds:
                raise TimeoutError(f"no record of {sorted(ends)} for {stall_timeout_seconds:.0f} s")
            for message in messages:
                where = (str(message.topic()), int(message.partition() or 0))
                end, offset, error = ends.get(where), int(message.offset() or 0), message.error()
                if end is None:
                    continue
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise _fault(error, parts[where])
                if error is None and offset < end:
                    columns.add(message, offset)
                    remaining -= 1
                    if len(columns) >= batch_records or columns.size_bytes >= batch_bytes:
                        yield columns.take()
                if offset >= end - (error is None):
                    del ends[where]
                    if ends:
                        reader.incremental_unassign([ClientPartition(*where)])
        if len(columns):
            yield columns.take()
    finally:
        reader.unassign()
