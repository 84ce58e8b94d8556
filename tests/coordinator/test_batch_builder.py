from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.coordinator.batch_builder import BATCH_OVERHEAD_BYTES, BatchBuilder
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.protocol.codec_errors import StringTooLong
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import decode_records


class TextSerde:
    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        if record.key == "too long":
            raise StringTooLong(record.key)
        return record.key.encode(), None if record.value is None else record.value.encode()

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        return CoordinatorRecord(key.decode(), None if value is None else value.decode())


def records(count: int) -> list[CoordinatorRecord]:
    return [CoordinatorRecord(f"{number:04}", "v" * 100) for number in range(count)]


def builder(max_batch_bytes: int = 1_000_000, compression: str = "none") -> BatchBuilder:
    settings = RuntimeSettings(max_batch_bytes=max_batch_bytes, compression=compression)
    return BatchBuilder(TextSerde(), ManualClock(1_234), settings)


def test_a_batch_holds_keys_values_tombstones_time_and_epoch() -> None:
    made = builder()
    (piece,) = made.pieces([CoordinatorRecord("k", "v"), CoordinatorRecord("gone", None)], atomic=True)
    batch = made.batch(piece.encoded, 7)
    assert [(record.key, record.value, record.timestamp) for record in decode_records(batch)] == [
        (b"k", b"v", 1_234),
        (b"gone", None, 1_234),
    ]
    assert [header.partition_leader_epoch for header in iter_batch_headers(memoryview(batch))] == [7]


def test_a_batch_of_a_transaction_has_its_producer_and_no_sequence() -> None:
    made = builder()
    (piece,) = made.pieces([CoordinatorRecord("k", "v", 7)], atomic=True)
    (header,) = iter_batch_headers(memoryview(made.batch(piece.encoded, 1, (7, 3))))
    assert (header.is_transactional, header.producer_id, header.producer_epoch) == (True, 7, 3)
    assert header.base_sequence == -1


def test_atomic_records_stay_together_others_are_split_at_the_limit() -> None:
    small = builder(1_000)
    assert len(small.pieces(records(50), atomic=True)) == 1
    pieces = small.pieces(records(50), atomic=False)
    assert len(pieces) > 1
    assert [record.key for piece in pieces for record in piece.records] == [record.key for record in records(50)]
    assert all(len(small.batch(piece.encoded, 0)) <= 1_000 for piece in pieces)


def test_sizes_are_never_underestimated() -> None:
    made = builder()
    for count in (1, 10, 300):
        (piece,) = made.pieces(records(count), atomic=True)
        assert len(made.batch(piece.encoded, 0)) <= piece.size_bytes + BATCH_OVERHEAD_BYTES


def test_batches_are_compressed_as_configured() -> None:
    plain, packed = builder(), builder(compression="zstd")
    encoded = plain.pieces(records(50), atomic=True)[0].encoded
    assert len(packed.batch(encoded, 0)) < len(plain.batch(encoded, 0)) / 2
    assert len(list(decode_records(packed.batch(encoded, 0)))) == 50
