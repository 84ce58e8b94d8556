"""`signalbox delete-records`: deletes the records of partitions below an offset (KIP-107)."""

from __future__ import annotations

from typing import Annotated

import typer

from signalbox.cli.connect import ask, fail, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin import AdminClient
from signalbox.common.ids import TopicPartition

_HIGH_WATERMARK = -1


def _fits(text: str, bits: int) -> bool:
    return text.isascii() and text.isdecimal() and int(text) < 1 << bits


def delete_records(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    before: Annotated[
        list[str],
        typer.Argument(
            metavar="PARTITION:OFFSET...", help="0:1500 deletes the records of partition 0 below 1500; 0:end all."
        ),
    ],
) -> None:
    """Delete the records of partitions below an offset, on all replicas, and print the new first offsets.

    Example: signalbox delete-records users 0:1500 1:end
    """
    target = {}
    for text in before:
        number, colon, offset = text.partition(":")
        if not (colon and _fits(number, 31) and (offset == "end" or _fits(offset, 63))):
            fail(f"expected PARTITION:OFFSET or PARTITION:end, not {text!r}", code=2)
        target[TopicPartition(topic, int(number))] = _HIGH_WATERMARK if offset == "end" else int(offset)

    async def delete(admin: AdminClient) -> dict[TopicPartition, int]:
        return await admin.delete_records(target)

    listing = Listing("topic", "partition", "first offset")
    for partition, first_offset in sorted(ask(delete).items()):
        listing.add(partition.topic, partition.partition, first_offset)
    show(listing)
