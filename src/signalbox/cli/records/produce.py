"""`signalbox produce`: one record per line of standard input or of a file.

The producer is idempotent and waits for all in-sync replicas (acks=all). Other settings are Kafka's producer keys, in
the file of --command-config or with -X.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from signalbox.cli.connect import client_properties, fail, pairs, property_values, run_client, tell

if TYPE_CHECKING:
    import asyncio

    from signalbox.client.cluster_client import ClusterClient
    from signalbox.client.producer import ProducerSettings
    from signalbox.client.sender.producer_batch import RecordMetadata

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line becomes a key and a value. `separator` divides them; a line without it is a value with `key`. `null`
    is the text that stands for null; `empty_is_null` does the same for an empty text."""

    separator: bytes | None = None
    key: bytes | None = None
    null: bytes | None = None
    empty_is_null: bool = False

    def parse(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """Key and value of a line."""
        key, value = self.key, line
        if self.separator is not None and self.separator in line:
            first, _, value = line.partition(self.separator)
            return self._text(first), self._text(value)
        return key, self._text(value)

    def _text(self, text: bytes) -> bytes | None:
        is_null = text == self.null or (self.empty_is_null and not text)
        return None if is_null else text


@dataclass(slots=True)
class Produced:
    """What was acknowledged, and the first failure."""

    topic: str
    records: int = 0
    by_partition: Counter[int] = field(default_factory=Counter)
    failure: BaseException | None = None

    def note(self, acknowledged: asyncio.Future[RecordMetadata]) -> None:
        if acknowledged.cancelled():
            return
        if error := acknowledged.exception():
            self.failure = self.failure or error
            return
        self.records += 1
        self.by_partition[acknowledged.result().topic_partition.partition] += 1


def produce(
    topic: Annotated[str, typer.Option("--topic", "-t", metavar="TOPIC", help="The topic.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A file of lines (default: standard input).")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, metavar="N", help="The partition (default: by the key).")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", metavar="KEY", help="The key of every record.")] = None,
    separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-K", metavar="TEXT", help=r"Text between key and value, \t for a tab."),
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header; can be repeated.")
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", "-z", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd.")
    ] = None,
    null: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The text that stands for a null key or value (a tombstone).")
    ] = None,
    empty_is_null: Annotated[
        bool, typer.Option("--empty-is-null", "-Z", help="Empty keys and values are null.")
    ] = False,
    timestamp: Annotated[
        str | None, typer.Option(metavar="TIME", help="Timestamp of every record: 2026-11-26T19:00:00, ms, or 15m ago.")
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", "-X", metavar="KEY=VALUE", help="A producer key such as linger.ms=50; repeatable."),
    ] = None,
) -> None:
    """Produce a record per line and wait until all are acknowledged by the in-sync replicas (acks=all).

    Example: signalbox produce -t users -K : -Z users
    """
    from signalbox.cli.shell.instants import instant_ms
    from signalbox.client.application_rows import PRODUCER_CONFIG

    try:
        timestamp_ms = None if timestamp is None else instant_ms(timestamp)
    except ValueError as error:
        fail(str(error), code=2)
    if separator == "":
        fail("--key-separator is empty: leave it out for lines without a key", code=2)
    line_format = LineFormat(_bytes(separator), _bytes(key), _bytes(null), empty_is_null)
    headers = [(name, value.encode()) for name, value in pairs(header, "--header").items()]
    record = RecordFields(topic, partition, headers, timestamp_ms)
    settings = _settings(property_values(properties, PRODUCER_CONFIG, "acks"), compression)
    with ExitStack() as stack:
        stream: BinaryIO = stack.enter_context(file.open("rb")) if file is not None else sys.stdin.buffer
        produced = run_client(lambda client: _send(client, stream, line_format, record, settings))
    count = f"{produced.records} record{'' if produced.records == 1 else 's'}"
    partitions = {str(number): records for number, records in sorted(produced.by_partition.items())}
    tell({"topic": topic, "records": produced.records, "partitions": partitions}, f"{topic}: {count} produced")


@dataclass(frozen=True, slots=True)
class RecordFields:
    """What all records have in common. `timestamp_ms` None is the time of each."""

    topic: str
    partition: int | None
    headers: Headers
    timestamp_ms: int | None


async def _send(
    client: ClusterClient, stream: BinaryIO, line_format: LineFormat, record: RecordFields, settings: ProducerSettings
) -> Produced:
    from signalbox.cli.records.line_source import lines_of
    from signalbox.client.producer import Producer

    produced = Produced(record.topic)
    view = await client.topic(record.topic)
    if record.partition is not None and record.partition not in view.partitions:
        raise ValueError(f"topic {record.topic} has no partition {record.partition}")
    async with Producer(client, settings) as producer:
        async for line in lines_of(stream):
            key, value = line_format.parse(line)
            acknowledged = await producer.send(
                record.topic,
                value,
                key,
                partition=record.partition,
                headers=record.headers,
                timestamp_ms=record.timestamp_ms,
            )
            acknowledged.add_done_callback(produced.note)
            if produced.failure is not None:
                break
    if produced.failure is not None:
        raise produced.failure
    return produced


def _settings(properties: dict[str, str], compression: str | None) -> ProducerSettings:
    from signalbox.client.failures import ConfigRejected
    from signalbox.client.producer import ProducerSettings

    if compression is not None:
        properties["compression.type"] = compression
    properties = {**client_properties(), **properties}
    if properties.get("acks", "all") not in ("all", "-1"):
        fail("acks is always all: the producer is idempotent", code=2)
    try:
        return ProducerSettings.from_properties(properties)
    except ConfigRejected as error:
        fail(str(error), code=2)


def _bytes(text: str | None) -> bytes | None:
    r"""The bytes of an option; `\t` and `\n` are a tab and a newline."""
    return None if text is None else text.replace(r"\t", "\t").replace(r"\n", "\n").encode()
