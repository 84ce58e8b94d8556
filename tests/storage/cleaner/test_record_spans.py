"""Records of every shape have the same key, offset and extent as the full decoder says; malformed ones are rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.storage.cleaner.record_spans import record_spans, timestamp_delta, with_timestamp_delta

pytestmark = pytest.mark.spec("D6")

BYTES = st.one_of(st.none(), st.binary(max_size=300), st.just(b"x" * 20_000))
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 2**45),
        key=BYTES,
        value=BYTES,
        headers=st.lists(st.tuples(st.just("h"), BYTES), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=150,
)


EQUAL_SIZES = st.builds(
    lambda key_bytes, value_bytes, step, runs: [
        Record(
            timestamp=10**12 + number * step,
            key=None if key_bytes < 0 else number.to_bytes(4, "big").ljust(key_bytes, b"k"),
            value=None if value_bytes < 0 else b"v" * (value_bytes + number // run),
        )
        for run in runs
        for number in range(run)
    ],
    st.sampled_from([-1, 4, 20, 200]),
    st.sampled_from([-1, 0, 3, 60, 1_000]),
    st.sampled_from([0, 1, 7, 50, 10_000]),
    st.lists(st.integers(1, 300), min_size=1, max_size=3),
)


@given(st.one_of(RECORDS, EQUAL_SIZES))
def test_spans_agree_with_the_decoder(rows: list[Record]) -> None:
    batch = encode_batch(rows, base_offset=1_000)
    records = batch[HEADER_SIZE:]
    spans = list(record_spans(records, len(rows)))
    assert [span[0] for span in spans[1:]] == [span[1] for span in spans[:-1]]
    assert spans[-1][1] == len(records)
    expected = list(decode_records(batch))
    assert [(delta + 1_000, key, has) for _, _, delta, key, has in spans] == [
        (record.offset, record.key, record.value is not None) for record in expected
    ]
    base = expected[0].timestamp
    assert [base + timestamp_delta(records, span[0]) for span in spans] == [record.timestamp for record in expected]


@given(RECORDS, st.integers(-(2**45), 2**45))
def test_another_timestamp_changes_nothing_else(rows: list[Record], delta: int) -> None:
    records = encode_batch(rows)[HEADER_SIZE:]
    for begin, end, *fields in record_spans(records, len(rows)):
        changed = with_timestamp_delta(records, begin, end, delta)
        ((_, _, *same),) = record_spans(changed, 1)
        assert same == fields
        assert timestamp_delta(changed, 0) == delta


@pytest.mark.parametrize("cut", range(1, 30))
def test_records_that_are_cut_off_are_rejected(cut: int) -> None:
    records = encode_batch([Record(key=b"key", value=b"v" * 10), Record(key=b"k", value=b"w")])[HEADER_SIZE:]
    with pytest.raises(KafkaError, match="record"):
        list(record_spans(records[:-cut], 2))


def test_bytes_behind_the_last_record_and_keys_beyond_it_are_rejected() -> None:
    records = encode_batch([Record(key=b"key", value=b"v")])[HEADER_SIZE:]
    with pytest.raises(KafkaError, match="1 bytes after the last record"):
        list(record_spans(records + b"x", 1))
    beyond = bytearray(records)
    beyond[4] = 60
    with pytest.raises(KafkaError, match="record"):
        list(record_spans(bytes(beyond) + bytes(100), 1))
