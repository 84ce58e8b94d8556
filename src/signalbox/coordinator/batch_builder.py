"""Builds record batches from a shard's records: encodes, counts bytes and splits long lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from signalbox.common.clock import Clock
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.ports import RecordSerde
from signalbox.protocol.records.record_batch import Record, encode_batch

# Upper bound of a record's bytes beside its key and value: length, attributes, deltas, two lengths, header count.
RECORD_OVERHEAD_BYTES = 32
BATCH_OVERHEAD_BYTES = 61


@dataclass(slots=True)
class Piece:
    """Records for one batch, as the shard's objects and encoded."""

    records: list[CoordinatorRecord] = field(default_factory=list)
    encoded: list[Record] = field(default_factory=list)
    size_bytes: int = 0


class BatchBuilder:
    def __init__(self, serde: RecordSerde, clock: Clock, settings: RuntimeSettings) -> None:
        self._serde = serde
        self._clock = clock
        self._settings = settings

    def pieces(self, records: list[CoordinatorRecord], atomic: bool) -> list[Piece]:
        """The records, split into as few batches as possible; into one batch of any size if `atomic`."""
        now_ms = self._clock.now_ms()
        pieces = [Piece()]
        for record in records:
            key, value = self._serde.encode(record)
            size_bytes = len(key) + len(value or b"") + RECORD_OVERHEAD_BYTES
            if not atomic and pieces[-1].records and not self.fits(pieces[-1].size_bytes, size_bytes):
                pieces.append(Piece())
            piece = pieces[-1]
            piece.records.append(record)
            piece.encoded.append(Record(timestamp=now_ms, key=key, value=value))
            piece.size_bytes += size_bytes
        return pieces

    def fits(self, size_bytes: int, more_bytes: int) -> bool:
        """Whether `more_bytes` fit into a batch that has `size_bytes` of records."""
        return BATCH_OVERHEAD_BYTES + size_bytes + more_bytes <= self._settings.max_batch_bytes

    def batch(self, encoded: list[Record], leader_epoch: int, producer: tuple[int, int] | None = None) -> bytearray:
        """With a producer id and epoch the batch is one of the producer's transaction. It has no sequence number: a
        coordinator does not number the batches that it writes for a producer, and the log does not check them."""
        producer_id, producer_epoch = producer or (-1, -1)
        return bytearray(
            encode_batch(
                encoded,
                compression=self._settings.compression,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                partition_leader_epoch=leader_epoch,
                transactional=producer is not None,
            )
        )
