"""The fast pass accepts only batches that the slow pass accepts, and finds the same highest timestamp."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.record_errors import RecordRules, check_records_one_by_one
from signalbox.protocol.records.record_walk import NEEDS_FULL_CHECK, walk_records
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, poisoned, raw_record

pytestmark = pytest.mark.spec("D1")

RECORDS = st.lists(
    st.builds(
        Record,
        offset=st.just(0),
        timestamp=st.integers(1_000, 1_000 + 100) | st.integers(0, 2**32),
        key=st.none() | st.binary(max_size=80),
        value=st.none() | st.binary(max_size=300) | st.just(b"x" * 20_000),
        headers=st.just(()) | st.just((("h", b"v"), ("n", None))),
    ),
    min_size=1,
    max_size=20,
)


def slowly(records: bytes, count: int, key_required: bool = False) -> int | None:
    """The highest timestamp delta according to the slow pass; None if it rejects the records."""
    try:
        return check_records_one_by_one(records, HEADER_SIZE, count, 0, RecordRules(key_required))
    except KafkaError:
        return None


def rows(count: int, size: int, gap_ms: int = 0, key: bytes | None = None) -> list[Record]:
    return [Record(0, 1_000 + index * gap_ms, key, bytes(size)) for index in range(count)]


@given(records=RECORDS)
def test_encoded_records_are_accepted_with_the_right_count_only(records: list[Record]) -> None:
    made = encode_batch(records)
    highest = max(record.timestamp for record in records) - records[0].timestamp
    walked = walk_records(made, HEADER_SIZE, len(records))
    assert walked in (highest, NEEDS_FULL_CHECK)
    if min(record.timestamp for record in records) == records[0].timestamp:
        assert walked == highest
    for wrong in (len(records) - 1, len(records) + 1):
        assert walk_records(made, HEADER_SIZE, wrong) == NEEDS_FULL_CHECK
    assert walk_records(made[:-1], HEADER_SIZE, len(records)) == NEEDS_FULL_CHECK
    assert walk_records(made + b"\0", HEADER_SIZE, len(records)) == NEEDS_FULL_CHECK


@settings(max_examples=300, deadline=None)
@given(
    size=st.sampled_from([0, 1, 50, 51, 52, 120, 9_000]),
    count=st.sampled_from([1, 7, 8, 9, 63, 64, 65, 130, 300]),
    gap_ms=st.sampled_from([0, 1, 40]),
    key=st.sampled_from([None, b"", b"key", b"k" * 70]),
    changes=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), max_size=2),
    key_required=st.booleans(),
)
def test_with_bytes_changed_it_is_never_more_generous_than_the_slow_pass(
    size: int, count: int, gap_ms: int, key: bytes | None, changes: list[tuple[int, int]], key_required: bool
) -> None:
    made = bytearray(encode_batch(rows(count, size, gap_ms, key)))
    for position, value in changes:
        made[HEADER_SIZE + position % (len(made) - HEADER_SIZE)] = value
    walked = walk_records(made, HEADER_SIZE, count, key_required)
    assert walk_records(memoryview(made), HEADER_SIZE, count, key_required) == walked
    if walked != NEEDS_FULL_CHECK:
        assert slowly(bytes(made), count, key_required) == walked
    elif not changes:
        assert key_required
        assert key is None


@settings(max_examples=300, deadline=None)
@given(at=st.integers(0, 70), field=st.integers(0, 12), value=st.integers(0, 255))
def test_a_byte_in_the_head_of_any_record_of_a_run(at: int, field: int, value: int) -> None:
    made = bytearray(encode_batch(rows(72, 60)))
    size = (len(made) - HEADER_SIZE - 8) // 72  # from record 64 on one byte more: the offset delta has two bytes
    position = HEADER_SIZE + size * at + max(at - 64, 0) + field
    made[position] = value
    walked = walk_records(made, HEADER_SIZE, 72)
    if walked != NEEDS_FULL_CHECK:
        assert slowly(bytes(made), 72) == walked


@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize("count", [8_193, 16_500])
def test_offset_deltas_of_every_width(size: int, count: int) -> None:
    made = encode_batch(rows(count, size, 1))
    assert walk_records(made, HEADER_SIZE, count) == count - 1
    assert slowly(made, count) == count - 1
    for wrong in (63, 64, 8_190):
        records = [raw_record(index) for index in range(count)]
        records[wrong] = raw_record(wrong, offset_delta=wrong + 1)
        assert walk_records(b"".join(records), 0, count) == NEEDS_FULL_CHECK


def test_sizes_that_come_in_runs_and_alone() -> None:
    choose = random.Random(5)
    sizes = [size for _ in range(60) for size in [choose.choice((0, 40, 55, 56, 9_000))] * choose.choice((1, 2, 9, 90))]
    made = encode_batch([Record(0, 5 + at // 9, b"k" * (at % 2), bytes(size)) for at, size in enumerate(sizes)])
    assert walk_records(made, HEADER_SIZE, len(sizes)) == (len(sizes) - 1) // 9


@pytest.mark.parametrize("count", [3, 12, 200])
@pytest.mark.parametrize("record", [*MISNUMBERED.values(), *UNREADABLE.values()], ids=[*MISNUMBERED, *UNREADABLE])
def test_poison_does_not_pass(record: bytes, count: int) -> None:
    assert walk_records(poisoned(record, 0, count=count), HEADER_SIZE, count) == NEEDS_FULL_CHECK
    assert walk_records(poisoned(raw_record(1), 0, count=count), HEADER_SIZE, count) == 0


def test_keys_where_they_are_required() -> None:
    for count in (1, 100):
        assert walk_records(encode_batch(rows(count, 9, key=b"")), HEADER_SIZE, count, True) == 0
        assert walk_records(encode_batch(rows(count, 9)), HEADER_SIZE, count, True) == NEEDS_FULL_CHECK
        assert walk_records(encode_batch(rows(count, 9)), HEADER_SIZE, count) == 0
    one = [*rows(50, 9, key=b"k"), Record(0, 1_000, None, bytes(10)), *rows(50, 9, key=b"k")]
    assert walk_records(encode_batch(one), HEADER_SIZE, 101, True) == NEEDS_FULL_CHECK


@given(noise=st.binary(max_size=60), count=st.integers(1, 16))
def test_noise_is_walked_without_a_fault(noise: bytes, count: int) -> None:
    if walk_records(noise, 0, count) != NEEDS_FULL_CHECK:
        check_records_one_by_one(noise, 0, count, 0, RecordRules())
