"""The map stays within its memory, and long keys are distinguished."""

from __future__ import annotations

import tracemalloc

import pytest

from signalbox.storage.cleaner.offset_map import ENTRY_BYTES, LONGEST_PLAIN_KEY, OffsetMap, identity_of

pytestmark = pytest.mark.spec("D6")


def test_a_key_has_its_last_offset() -> None:
    offset_map = OffsetMap(1_000)
    assert offset_map.put(b"a", 1)
    assert offset_map.put(b"b", 2)
    assert offset_map.put(b"a", 3)
    assert offset_map.offsets == {b"a": 3, b"b": 2}


def test_a_full_map_takes_known_keys_only() -> None:
    offset_map = OffsetMap(2 * (ENTRY_BYTES + 1))
    assert [offset_map.put(key, 1) for key in (b"a", b"b", b"c", b"a")] == [True, True, False, True]
    assert offset_map.utilization == 1.0


def test_the_first_key_has_room_in_any_memory() -> None:
    offset_map = OffsetMap(0)
    assert offset_map.put(b"a", 1)
    assert not offset_map.put(b"b", 2)


def test_long_keys_are_hashed_and_do_not_collide_with_short_ones() -> None:
    long = bytes(LONGEST_PLAIN_KEY + 1)
    assert identity_of(long[1:]) == long[1:]
    hashed = identity_of(long)
    assert isinstance(hashed, int)
    assert hashed != identity_of(long + b"x")
    offset_map = OffsetMap(10_000)
    offset_map.put(long, 1)
    offset_map.put(hashed.to_bytes(16, "little"), 2)
    assert len(offset_map.offsets) == 2


@pytest.mark.parametrize("key_bytes", [8, 32, 100])
def test_the_memory_is_within_the_budget(key_bytes: int) -> None:
    budget = 4 << 20
    tracemalloc.start()
    offset_map = OffsetMap(budget)
    number = 0
    while offset_map.put(number.to_bytes(key_bytes, "big"), 10**6 + number):
        number += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert number > 15_000
    assert peak <= budget
