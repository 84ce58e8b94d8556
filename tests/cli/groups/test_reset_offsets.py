"""`signalbox group reset-offsets`: shown, and committed with --execute."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from signalbox.client import GroupConsumer
from signalbox.testing.cluster import Cluster

TOPIC = "rewound"


@pytest.fixture(scope="module")
def group(run: Any) -> str:
    """A group that has committed offset 10 of 10 in each of two partitions; record n has the timestamp 1000 n."""
    run("topic", "create", TOPIC, "--partitions", "2")
    for partition in "01":
        for number in range(10):
            run("produce", "-t", TOPIC, "-p", partition, "--timestamp", str(number * 1_000), lines="x\n")
    run("consume", "-t", TOPIC, "-G", "rewinders", "-e")
    return "rewinders"


def offsets(run: Any, *arguments: str) -> list[int]:
    result = run("group", "reset-offsets", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [row["new_offset"] for row in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--to-earliest",), [0, 0]),
        (("--to-latest",), [10, 10]),
        (("--to-offset", "4"), [4, 4]),
        (("--to-offset", "400"), [10, 10]),
        (("--shift-by", "-3"), [7, 7]),
        (("--shift-by", "-30"), [0, 0]),
        (("--to-datetime", "1970-01-01T00:00:06"), [6, 6]),
        (("--to-datetime", "2026-01-01"), [10, 10]),
        (("-t", f"{TOPIC}:1", "--to-earliest"), [0]),
        (("-t", TOPIC, "--to-earliest"), [0, 0]),
    ],
)
def test_new_offsets_are_shown(run: Any, group: str, arguments: tuple[str, ...], expected: list[int]) -> None:
    assert offsets(run, group, *arguments) == expected
    committed = json.loads(run("group", "offsets", group, "--json").stdout)
    assert [row["offset"] for row in committed] == [10, 10], "nothing was committed"


def test_new_offsets_are_committed_with_execute(run: Any, group: str) -> None:
    shown = run("group", "reset-offsets", group, "--shift-by", "-2", "-t", f"{TOPIC}:0")
    assert "repeat the command with --execute" in shown.stdout
    assert offsets(run, group, "--shift-by", "-2", "-t", f"{TOPIC}:0", "--execute") == [8]
    assert run("consume", "-t", TOPIC, "-G", group, "-e").stdout.splitlines() == ["x", "x"]


def test_a_new_group_may_begin_anywhere(run: Any, group: str) -> None:
    assert offsets(run, "not-yet", "-t", f"{TOPIC}:0", "--to-offset", "9", "--execute") == [9]
    assert json.loads(run("group", "offsets", "not-yet", "--json").stdout)[0]["offset"] == 9


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), 2, "one of --to-earliest"),
        (("--to-earliest", "--to-latest"), 2, "one of --to-earliest"),
        (("--to-datetime", "soon"), 2, "'soon' is not a time"),
        (("-t", "nope", "--to-earliest"), 1, "topic nope does not exist"),
        (("-t", f"{TOPIC}:7", "--to-earliest"), 1, f"topic {TOPIC} has no partition 7"),
        (("-t", f"{TOPIC}:x", "--to-earliest"), 1, "--topic takes NAME or NAME:0,2"),
    ],
)
def test_rejections(run: Any, group: str, arguments: tuple[str, ...], code: int, text: str) -> None:
    result = run("group", "reset-offsets", group, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr


def test_shifting_needs_a_committed_offset(run: Any, group: str) -> None:
    result = run("group", "reset-offsets", "unknown-group", "-t", f"{TOPIC}:0", "--shift-by", "1")
    assert result.exit_code == 1
    assert f"--shift-by needs a committed offset, which {TOPIC}-0 does not have" in result.stderr


def test_a_group_with_members_is_rejected(run: Any, cluster: Cluster, group: str) -> None:
    async def reset() -> Any:
        async with GroupConsumer.of(cluster.bootstrap_servers, "busy") as consumer:
            consumer.subscribe([TOPIC])
            while not consumer.assignment:
                await consumer.poll(100)
            return await asyncio.to_thread(run, "group", "reset-offsets", "busy", "--to-earliest", "--execute")

    result = asyncio.run(reset())
    assert (result.exit_code, result.stdout) == (1, "")
    assert "group busy is Stable: offsets can be reset when it has no members" in result.stderr
