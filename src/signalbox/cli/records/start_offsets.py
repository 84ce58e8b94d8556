"""Where `signalbox consume` begins: `beginning`, `end`, an offset, `-N` (the last N records), or `@TIME`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import typer

from signalbox.cli.shell.instants import instant_ms
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST, OffsetAdmin
from signalbox.common.ids import TopicPartition

_LARGEST = (1 << 63) - 1
Kind = Literal["beginning", "end", "offset", "last", "time"]


@dataclass(frozen=True, slots=True)
class Start:
    """`number` is an offset, a number of records, or a time in ms, by `kind`."""

    kind: Kind
    number: int = 0


def parse_start(text: str) -> Start:
    """ValueError for an unknown text."""
    if text in ("beginning", "earliest"):
        return Start("beginning")
    if text in ("end", "latest"):
        return Start("end")
    if text.startswith("@"):
        return Start("time", instant_ms(text[1:]))
    number = text.removeprefix("-")
    if number.isascii() and number.isdecimal() and int(number) <= _LARGEST:
        return Start("offset" if text == number else "last", int(number))
    raise ValueError(f"--offset takes beginning, end, an offset, -N (the last N records) or @TIME, not {text!r}")


def _note_beyond(ends: dict[TopicPartition, int], offset: int) -> None:
    """A note on standard error: a partition with nothing to read looks like one without records."""
    beyond = ", ".join(f"{one} ({end})" for one, end in sorted(ends.items()) if offset > end)
    if beyond:
        typer.echo(f"offset {offset} is beyond the end of {beyond}: reading from there", err=True)


async def start_offsets(
    admin: OffsetAdmin, partitions: list[TopicPartition], start: Start
) -> dict[TopicPartition, int]:
    """The first offset to read of each partition, within its log."""
    if start.kind == "beginning":
        return await admin.list_offsets(partitions, EARLIEST)
    ends = await admin.list_offsets(partitions, LATEST)
    if start.kind == "end":
        return ends
    if start.kind == "time":
        found = await admin.list_offsets(partitions, start.number)
        return {one: offset if offset >= 0 else ends[one] for one, offset in found.items()}
    first = await admin.list_offsets(partitions, EARLIEST)
    if start.kind == "offset":
        _note_beyond(ends, start.number)
        return {one: min(max(start.number, first[one]), ends[one]) for one in partitions}
    return {one: max(first[one], ends[one] - start.number) for one in partitions}
