"""`signalbox group reset-offsets`: new committed offsets for a group without members, as Kafka's kafka-consumer-groups.

Without --execute the new offsets are only shown. Offsets outside of a partition's log become its first or last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from signalbox.cli.connect import ask, fail, say, show
from signalbox.cli.groups.group_lag import describe_existing, existing
from signalbox.cli.shell.instants import instant_ms
from signalbox.cli.shell.listing import Listing
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient

Offsets = dict[TopicPartition, int]
_INACTIVE = "Empty"


def reset_offsets(
    group: str,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", help="NAME or NAME:0,2 (partitions); can be repeated (default: all committed)."),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the first record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end.")] = False,
    to_offset: Annotated[int | None, typer.Option(min=0, metavar="OFFSET", help="To this offset.")] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="To the first record from TIME on: 2026-11-26T19:00:00 (UTC), or 2h ago."),
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option(metavar="N", help="Forward by N records, or back with a negative N.")
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Commit the new offsets (default: show them).")] = False,
) -> None:
    """Reset the committed offsets of a group that has no members."""
    chosen = [to_earliest, to_latest, to_offset is not None, to_datetime is not None, shift_by is not None]
    if sum(chosen) != 1:
        fail("exactly one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by is required", code=2)
    try:
        timestamp = None if to_datetime is None else instant_ms(to_datetime)
    except ValueError as error:
        fail(str(error), code=2)
    if to_earliest or to_latest:
        from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST

        timestamp = EARLIEST if to_earliest else LATEST

    async def reset(admin: AdminClient) -> tuple[Offsets, Offsets]:
        described = await describe_existing(admin, group)
        if described is not None and described.state != _INACTIVE:
            message = f"group {group} is {described.state}: offsets can be reset when it has no members"
            raise rejection_of(Error.NON_EMPTY_GROUP, message)
        committed = {one: entry.offset for one, entry in (await admin.committed_offsets(group)).items()}
        partitions = await _partitions(admin, topic, committed)
        target = await _targets(admin, partitions, committed, timestamp, to_offset, shift_by)
        if execute and target:
            await admin.alter_committed_offsets(group, target)
        return committed, target

    committed, target = ask(reset)
    listing = Listing("group", "topic", "partition", "committed", "new offset")
    for partition, offset in sorted(target.items()):
        listing.add(group, partition.topic, partition.partition, committed.get(partition), offset)
    show(listing)
    if not execute:
        say("nothing was changed: repeat the command with --execute to commit these offsets")


async def _partitions(admin: AdminClient, topics: list[str] | None, committed: Offsets) -> list[TopicPartition]:
    if not topics:
        return await existing(admin, sorted(committed))
    partitions = []
    for text in topics:
        name, _, numbers = text.partition(":")
        view = (await admin.describe_topics([name])).get(name)
        known = sorted(view.partitions) if view is not None else []
        try:
            wanted = [int(number) for number in numbers.split(",")] if numbers else known
        except ValueError:
            raise ValueError(f"--topic takes NAME or NAME:0,2, not {text!r}") from None
        missing = [number for number in wanted if number not in known]
        if missing or not known:
            what = f"topic {name} has no partition {missing[0]}" if known else f"topic {name} does not exist"
            raise rejection_of(Error.UNKNOWN_TOPIC_OR_PARTITION, what)
        partitions += [TopicPartition(name, number) for number in wanted]
    return partitions


async def _targets(
    admin: AdminClient,
    partitions: list[TopicPartition],
    committed: Offsets,
    timestamp: int | None,
    to_offset: int | None,
    shift_by: int | None,
) -> Offsets:
    from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST

    first = await admin.list_offsets(partitions, EARLIEST)
    last = await admin.list_offsets(partitions, LATEST)
    if timestamp is not None:
        found = await admin.list_offsets(partitions, timestamp)
        # -1: no record is that recent
        return {one: offset if offset >= 0 else last[one] for one, offset in found.items()}
    if shift_by is not None:
        without = [str(one) for one in partitions if one not in committed]
        if without:
            raise ValueError(f"--shift-by needs a committed offset, which {', '.join(without)} does not have")
        wanted = {one: committed[one] + shift_by for one in partitions}
    else:
        assert to_offset is not None
        wanted = dict.fromkeys(partitions, to_offset)
    return {one: min(max(offset, first[one]), last[one]) for one, offset in wanted.items()}
