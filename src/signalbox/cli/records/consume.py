"""`signalbox consume`: prints records of topics, of chosen partitions and offsets or as a member of a group.

Without --group nothing is committed. With --group the command joins the group, and commits what it has printed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from signalbox.cli.connect import client_properties, fail, property_values, run_client
from signalbox.cli.records.record_format import DEFAULT_FORMAT, compile_format, record_as_json
from signalbox.cli.shell.shared_options import shared

if TYPE_CHECKING:
    from signalbox.cli.records.start_offsets import Start
    from signalbox.client.cluster_client import ClusterClient
    from signalbox.client.consumer import Consumer
    from signalbox.client.fetch_exchange import ConsumedRecord
    from signalbox.client.group_consumer.group_consumer import GroupConsumer
    from signalbox.common.ids import TopicPartition

_POLL_MS = 200
_POLL_RECORDS = 500
_LEAVE_MS = 5_000  # for the last commit and LeaveGroup


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read, and when to stop: `limit` records (None: no limit), `until_end`: at the end of each partition as it
    was when the command began."""

    topics: list[str]
    partitions: list[int]
    start: Start
    limit: int | None
    until_end: bool
    properties: dict[str, str]

    @property
    def isolation_level(self) -> int:
        """For ListOffsets: with read_committed the end is before the first open transaction."""
        return int(self.properties.get("isolation.level") == "read_committed")


def consume(
    topic: Annotated[list[str], typer.Option("--topic", "-t", metavar="TOPIC", help="A topic; can be repeated.")],
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, metavar="N", help="Only this partition; can be repeated."),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="OFFSET",
            help="beginning (default), end, an offset, -N (the last N records), @TIME (@2026-11-26T19:00:00, @15m).",
        ),
    ] = None,
    exit_at_end: Annotated[bool, typer.Option("--exit", "-e", help="Exit at the end of the partitions.")] = False,
    max_messages: Annotated[
        int | None, typer.Option("--max-messages", "-c", min=1, metavar="N", help="Exit after N records.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", "-G", metavar="GROUP", help="Join this group: read from its offsets, and commit."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help=r"%t topic, %p partition, %o offset, %k key, %s value, %h headers, %T timestamp, %K %S sizes, \n \t.",
        ),
    ] = DEFAULT_FORMAT,
    null: Annotated[str | None, typer.Option(metavar="TEXT", help="The text for a null key or value.")] = None,
    read_committed: Annotated[
        bool, typer.Option("--read-committed", help="No records of transactions that are open or aborted.")
    ] = False,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "--property", "-X", metavar="KEY=VALUE", help="A consumer key such as fetch.min.bytes; repeatable."
        ),
    ] = None,
) -> None:
    """Print the records of topics, a JSON object per line with --json.

    Example: signalbox consume -t users -o -10 -e -f '%t %p %o %k=%s %h %T\\n'
    """
    from signalbox.cli.records.start_offsets import parse_start
    from signalbox.client.application_rows import CONSUMER_CONFIG

    if group is not None and (partition or offset is not None):
        fail("--group reads all partitions from the group's offsets: --partition and --offset do not apply", code=2)
    try:
        start = parse_start(offset or "beginning")
        render = record_as_json if shared().as_json else compile_format(output, null.encode() if null else None)
    except ValueError as error:
        fail(str(error), code=2)
    keys = {**client_properties(), **property_values(properties, CONSUMER_CONFIG)}
    if read_committed:
        keys["isolation.level"] = "read_committed"
    reading = Reading(topic, partition or [], start, max_messages, exit_at_end, keys)
    if group is None:
        run_client(lambda client: _read(client, reading, render))
    else:
        run_client(lambda client: _read_as_member(client, group, reading, render))


async def _read(client: ClusterClient, reading: Reading, render: Callable[[ConsumedRecord], bytes]) -> None:
    from signalbox.cli.records.start_offsets import start_offsets
    from signalbox.client.admin_apis.offset_admin import LATEST, OffsetAdmin
    from signalbox.client.consumer import Consumer, ConsumerSettings
    from signalbox.common.ids import TopicPartition

    partitions = []
    for name in reading.topics:
        known = (await client.topic(name)).partitions
        missing = [number for number in reading.partitions if number not in known]
        if missing:
            raise ValueError(f"topic {name} has no partition {missing[0]}")
        partitions += [TopicPartition(name, number) for number in reading.partitions or sorted(known)]
    admin = OffsetAdmin(client)
    ends = (
        await admin.list_offsets(partitions, LATEST, isolation_level=reading.isolation_level)
        if reading.until_end
        else {}
    )
    consumer = Consumer(
        client, ConsumerSettings.from_properties({"auto.offset.reset": "earliest", **reading.properties})
    )
    try:
        await consumer.assign(await start_offsets(admin, partitions, reading.start))
        left = reading.limit
        while left != 0 and not (reading.until_end and _is_at(consumer, ends)):
            records = await consumer.poll(_POLL_MS, min(_POLL_RECORDS, left or _POLL_RECORDS))
            # What was produced after the command began is beyond the end.
            if reading.until_end:
                records = [row for row in records if row.offset < ends[TopicPartition(row.topic, row.partition)]]
            left = _print(records, render, left)
    finally:
        await consumer.close()


async def _read_as_member(
    client: ClusterClient, group: str, reading: Reading, render: Callable[[ConsumedRecord], bytes]
) -> None:
    from signalbox.client.admin_apis.offset_admin import LATEST, OffsetAdmin
    from signalbox.client.group_consumer.group_consumer import GroupConsumer
    from signalbox.client.group_consumer.group_settings import GroupConsumerSettings, RebalanceListener

    keys = {"auto.offset.reset": "earliest", **reading.properties, "group.id": group}
    admin = OffsetAdmin(client)
    ends: dict[TopicPartition, int] = {}
    joined = asyncio.Event()

    class Joined(RebalanceListener):
        async def on_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            joined.set()

    left = reading.limit
    consumer = GroupConsumer(client, GroupConsumerSettings.from_properties(keys))
    try:
        consumer.subscribe(reading.topics, Joined())
        while left != 0:
            records = await consumer.poll(_POLL_MS, min(_POLL_RECORDS, left or _POLL_RECORDS))
            left = _print(records, render, left)
            if reading.until_end and not records and joined.is_set():  # a member may have no partitions
                fresh = [one for one in consumer.assignment if one not in ends]
                ends.update(await admin.list_offsets(fresh, LATEST, isolation_level=reading.isolation_level))
                if _is_at(consumer, {one: ends[one] for one in consumer.assignment}):
                    break
    finally:
        await consumer.close(timeout_ms=_LEAVE_MS)


def _is_at(consumer: Consumer | GroupConsumer, ends: dict[TopicPartition, int]) -> bool:
    try:
        return all(consumer.position(one) >= end for one, end in ends.items())
    except KeyError:  # the position of a member is not known yet
        return False


def _print(records: list[ConsumedRecord], render: Callable[[ConsumedRecord], bytes], left: int | None) -> int | None:
    """Write the records; returns how many may follow."""
    if records:
        sys.stdout.buffer.write(b"".join(map(render, records)))
        sys.stdout.buffer.flush()
    return None if left is None else left - len(records)
