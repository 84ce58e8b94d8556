"""Where `signalbox consume` begins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from signalbox.cli.records.start_offsets import Start, parse_start, start_offsets
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST, OffsetAdmin
from signalbox.common.ids import TopicPartition

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


class Log:
    """Partition 0 has offsets 10 to 19, partition 1 has none; from time 500 on there is offset 15."""

    async def list_offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> dict[TopicPartition, int]:
        by_partition = {EARLIEST: (10, 0), LATEST: (20, 0), 500: (15, -1)}[timestamp]
        return {one: by_partition[one.partition] for one in partitions}


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("beginning", (10, 0)),
        ("end", (20, 0)),
        ("12", (12, 0)),
        ("3", (10, 0)),
        ("99", (20, 0)),
        ("-4", (16, 0)),
        ("-40", (10, 0)),
        ("@500", (15, 0)),
    ],
)
def test_offsets_are_within_the_log(text: str, offsets: tuple[int, int]) -> None:
    admin = cast(OffsetAdmin, cast(Any, Log()))
    found = asyncio.run(start_offsets(admin, [ONE, TWO], parse_start(text)))
    assert found == dict(zip((ONE, TWO), offsets, strict=True))


def test_an_offset_beyond_the_end_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    admin = cast(OffsetAdmin, cast(Any, Log()))
    asyncio.run(start_offsets(admin, [ONE, TWO], parse_start("20")))
    assert capsys.readouterr().err == "offset 20 is beyond the end of t-1 (0): reading from there\n"


def test_names_of_kafka_and_times() -> None:
    assert (parse_start("earliest"), parse_start("latest")) == (Start("beginning"), Start("end"))
    assert parse_start("@1970-01-01T00:00:01") == Start("time", 1_000)


@pytest.mark.parametrize("text", ["", "middle", "@soon", "--5", "1.5", "9223372036854775808", "\u0663"])
def test_other_texts_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not"):
        parse_start(text)
