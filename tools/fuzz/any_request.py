"""Real requests of any API and version, with values that reach the handlers: few names, small numbers, short waits."""

from __future__ import annotations

import random
from typing import Any

from signalbox.protocol.api_table import ApiKey, ApiRow
from signalbox.protocol.codec.layout import FieldLayout, StructLayout, layout_of
from signalbox.protocol.codec_errors import EncodeError
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.records.record_batch import Record, encode_batch

TOPIC = "fuzz"
CLIENT_ID = "fuzz"
_STRINGS = (TOPIC, "fuzz-group", "", "unknown", "__consumer_offsets", "range", "consumer", "é" * 40, "x" * 200)
_INTEGERS = (0, 0, 0, 1, 1, 2, 3, 5, 100, -1, -1, -2)
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_WAIT_MS = 20  # for every field that is a time: a request must not be parked for long


class AnyRequest:
    """Generates frames from a seed. `uuids` are ids that exist on the brokers: half of all generated ids."""

    def __init__(self, random_: random.Random, uuids: tuple[bytes, ...] = (bytes(16),)) -> None:
        self._random = random_
        self._uuids = uuids

    def frame(self, row: ApiRow, version: int, correlation_id: int) -> bytes:
        """A complete request without its size."""
        header = encode_request_header(row.key, version, correlation_id, CLIENT_ID)
        message = row.request
        layout = layout_of(message.schema, version)
        for _ in range(5):
            try:
                body = self._struct(layout, message.codec.classes).encode_chunks(version)
            except (EncodeError, ValueError):
                continue  # a value that this version cannot encode: draw again
            return header + b"".join(map(bytes, body))
        return header + bytes(message().encode(version))

    def _struct(self, layout: StructLayout, classes: dict[str, Any]) -> Any:
        made = classes[layout.name]()
        for field in layout.fields:
            setattr(made, field.attribute, self._field(field, classes))
        for field in layout.tagged:
            if self._random.random() < 0.2:
                setattr(made, field.attribute, self._field(field, classes))
        return made

    def _field(self, field: FieldLayout, classes: dict[str, Any]) -> Any:
        if field.nullable and self._random.random() < 0.1:
            return None
        if field.is_array:
            return [self._one(field, classes) for _ in range(self._random.choice((0, 1, 1, 1, 2, 3)))]
        return self._one(field, classes)

    def _one(self, field: FieldLayout, classes: dict[str, Any]) -> Any:
        random_ = self._random
        if field.struct is not None:
            return self._struct(field.struct, classes)
        kind = field.type_name
        if kind == "string":
            return random_.choice(_STRINGS)
        if kind == "records":
            return self.batch()
        if kind == "bytes":
            return random_.randbytes(random_.choice((0, 1, 8, 40)))
        if kind == "bool":
            return random_.random() < 0.5
        if kind == "uuid":
            return random_.choice(self._uuids) if random_.random() < 0.5 else random_.randbytes(16)
        if kind == "float64":
            return random_.random()
        if field.attribute.endswith("_ms"):
            return random_.choice((0, 1, _WAIT_MS))
        value = random_.choice(_INTEGERS)
        return abs(value) if kind.startswith("uint") else value

    def batch(self) -> bytes:
        """A record batch that a broker would accept."""
        random_ = self._random
        records = [
            Record(key=random_.choice((None, b"k")), value=random_.randbytes(random_.choice((0, 10, 300))))
            for _ in range(random_.choice((1, 1, 2, 20)))
        ]
        return encode_batch(
            records,
            compression=random_.choice(_COMPRESSIONS),
            timestamp_ms=1_700_000_000_000,
            producer_id=random_.choice((-1, -1, 7)),
            producer_epoch=0,
            base_sequence=0,
        )


def changes_the_cluster(row: ApiRow) -> bool:
    """True if a well-formed request of this API may change the broker itself: sent only to a guarded broker."""
    return row.forwardable or row.cluster_action or row.key == ApiKey.DELETE_RECORDS
