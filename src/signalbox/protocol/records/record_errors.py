"""The invalid records of a batch and their errors, which are returned to the producer (KIP-467).

The slow way, record by record, for batches that `record_walk` did not accept. A record's number, its key where the
topic is compacted, and its timestamp are checked; the batch is then rejected with all of its errors, up to
`MAX_RECORD_ERRORS`. A record that cannot be read at all ends the search, since the records behind it cannot be found.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.limits import MAX_RECORD_ERRORS
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.varint import read_zigzag_varint

Records = bytes | bytearray | memoryview
RecordErrors = tuple[tuple[int, str | None], ...]  # index of the record in its batch, message

NO_TIMESTAMP = -1
_INT32 = range(-(2**31), 2**31)


class InvalidRecords(KafkaError):
    """INVALID_RECORD or INVALID_TIMESTAMP, with the records that are invalid."""

    def __init__(self, error: Error, message: str, record_errors: RecordErrors) -> None:
        super().__init__(error, message)
        self.record_errors = record_errors


@dataclass(frozen=True, slots=True)
class RecordRules:
    """The rules for every record. `earliest_ms` and `latest_ms` are None where timestamps are not checked."""

    key_required: bool = False
    earliest_ms: int | None = None
    latest_ms: int | None = None

    def allow(self, timestamp: int) -> bool:
        """Whether a record may have this timestamp; a record without a timestamp is allowed."""
        return timestamp == NO_TIMESTAMP or self.allow_all(timestamp, timestamp)

    def allow_all(self, lowest: int, highest: int) -> bool:
        """Whether records may have any timestamp between these two."""
        if self.earliest_ms is None or self.latest_ms is None:
            return True
        return self.earliest_ms <= lowest and highest <= self.latest_ms


def check_records_one_by_one(records: Records, at: int, count: int, base_timestamp: int, rules: RecordRules) -> int:
    """The highest timestamp of `count` records from `at` to the end, -1 where none has one. Raises `InvalidRecords`;
    its code is INVALID_TIMESTAMP when a timestamp is among the errors, as in Kafka's LogValidator. Yields."""
    highest, errors, error = NO_TIMESTAMP, list[tuple[int, str | None]](), Error.INVALID_RECORD
    for index in range(count):
        yield_if_due()
        try:
            timestamp_delta, offset_delta, has_key, at = _read(records, at)
        except (DecodeError, IndexError) as problem:
            text = f"Record {index} of {count} cannot be read: {problem}"
            raise InvalidRecords(Error.INVALID_RECORD, text, ((index, text),)) from None
        timestamp = base_timestamp + timestamp_delta
        highest = max(highest, timestamp)
        message = _record_error(index, offset_delta, has_key, rules)
        if message is None and not rules.allow(timestamp):
            error = Error.INVALID_TIMESTAMP
            message = f"Timestamp {timestamp} is not within [{rules.earliest_ms}, {rules.latest_ms}]."
        if message is not None and len(errors) < MAX_RECORD_ERRORS:
            errors.append((index, message))
    if at != len(records):
        text = f"{len(records) - at} bytes follow the {count} records that the batch counts"
        raise KafkaError(Error.INVALID_RECORD, text)
    if errors:
        raise InvalidRecords(error, _summary(error, errors), tuple(errors))
    return highest


def check_record_sizes(records: Records, at: int, count: int, limit_bytes: int) -> None:
    """Raises KafkaError INVALID_RECORD at a record that is larger than `limit_bytes` without its own length, as the
    length claims, and where no length can be read. Yields."""
    for index in range(count):
        yield_if_due()
        try:
            size, at = _int(records, at)
        except (DecodeError, IndexError) as problem:
            raise KafkaError(Error.INVALID_RECORD, f"Record {index} of {count} cannot be read: {problem}") from None
        if not 0 <= size <= limit_bytes:
            text = f"Record {index} has {size} bytes, max.decompressed.message.bytes is {limit_bytes}"
            raise KafkaError(Error.INVALID_RECORD, text)
        at += size


def _record_error(index: int, offset_delta: int, has_key: bool, rules: RecordRules) -> str | None:
    if offset_delta != index:
        return f"Offset delta {offset_delta} of record {index}: deltas count up from 0."
    if rules.key_required and not has_key:
        return "Compacted topic cannot accept message without key."
    return None


def _summary(error: Error, errors: list[tuple[int, str | None]]) -> str:
    if error is Error.INVALID_TIMESTAMP:
        return "One or more records have been rejected due to invalid timestamp"
    first = "; ".join(f"{index}: {message}" for index, message in errors[:3])
    return f"One or more records have been rejected due to {len(errors)} record errors in total, the first are {first}"


def _read(records: Records, at: int) -> tuple[int, int, bool, int]:
    """Timestamp delta, offset delta, whether there is a key, and the position behind the record at `at`."""
    size, at = _int(records, at)
    stop = at + size
    if size < 0 or stop > len(records):
        raise DecodeError(f"it has {size} bytes, {len(records) - at} are left")
    timestamp_delta, at = read_zigzag_varint(records, at + 1)
    offset_delta, at = _int(records, at)
    key_size, at = _sized(records, at, stop)
    _, at = _sized(records, at, stop)
    headers, at = _int(records, at)
    if not 0 <= headers <= stop - at:
        raise DecodeError(f"{headers} headers in {stop - at} bytes")
    for _ in range(headers):
        name_size, at = _sized(records, at, stop)
        if name_size < 0:
            raise DecodeError("a header without a name")
        _, at = _sized(records, at, stop)
    if at != stop:
        raise DecodeError(f"it ends at {at}, its length says {stop}")
    return timestamp_delta, offset_delta, key_size >= 0, at


def _int(records: Records, at: int) -> tuple[int, int]:
    value, behind = read_zigzag_varint(records, at)
    if value not in _INT32 or behind - at > 5:
        raise DecodeError(f"{value} has more than 32 bits")
    return value, behind


def _sized(records: Records, at: int, stop: int) -> tuple[int, int]:
    """The length at `at` (negative: null) and the position behind the bytes that it counts."""
    size, at = _int(records, at)
    at += max(size, 0)
    if at > stop:
        raise DecodeError(f"a field of {size} bytes exceeds the record")
    return size, at
