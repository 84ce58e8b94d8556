"""The record of a classic group, to the byte."""

from __future__ import annotations

import struct

from tests.coordinator.group.classic.test_classic_group import group_of, member
from tests.coordinator.group.test_group_records import SERDE, data, text

from signalbox.coordinator.group.classic.classic_records import empty_group_record, group_record
from signalbox.coordinator.group.classic.states import GroupState


def test_a_group_with_a_static_and_a_dynamic_member() -> None:
    group = group_of(member("a", instance="i"), member("b"))
    group.next_generation()
    key, value = SERDE.encode(group_record(group, {"a": b"one"}))
    assert key == struct.pack(">h", 2) + text("g")
    metadata = group.members["a"].metadata("range")
    timeouts = struct.pack(">ii", 60_000, 10_000)
    assert value == (
        struct.pack(">h", 3) + text("consumer") + struct.pack(">i", 1) + text("range") + text("a")
        + struct.pack(">qi", 7, 2)
        + text("a") + text("i") + text("c") + text("/h") + timeouts + data(metadata) + data(b"one")
        + text("b") + struct.pack(">h", -1) + text("c") + text("/h") + timeouts + data(metadata) + data(b"")
    )  # fmt: skip


def test_an_empty_group() -> None:
    group = group_of(member("a"))
    group.remove("a")
    group.next_generation()
    assert group.state is GroupState.EMPTY
    _, value = SERDE.encode(empty_group_record(group))
    assert value == (
        struct.pack(">h", 3) + text("consumer") + struct.pack(">ihhqi", 1, -1, -1, 7, 0)
    )  # fmt: skip
