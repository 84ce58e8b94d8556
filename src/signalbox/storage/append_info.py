"""The results of an append and of a read."""

from __future__ import annotations

from signalbox.common.file_slice import FileSlice


class LogAppendInfo:
    """The offsets of appended batches. Offsets are assigned at once; the bytes are in the file after `flush_appends`.

    `duplicate`: the batch was appended before; the offsets are those of the first append (KIP-98). `log_append_time_ms`
    is -1 if the topic uses the producers' timestamps.
    """

    __slots__ = (
        "duplicate",
        "first_offset",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "size_bytes",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        size_bytes: int,
        log_start_offset: int,
        log_append_time_ms: int = -1,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.size_bytes = size_bytes
        self.log_start_offset = log_start_offset
        self.log_append_time_ms = log_append_time_ms
        self.duplicate = False

    def mark_duplicate(self, first_offset: int, last_offset: int, timestamp: int) -> None:
        """The batch is already in the log, at these offsets. `timestamp` is its append time if the broker's clock
        counts."""
        self.first_offset, self.last_offset, self.duplicate = first_offset, last_offset, True
        if self.log_append_time_ms >= 0:
            self.log_append_time_ms = timestamp

    def __repr__(self) -> str:
        duplicate_text = ", duplicate" if self.duplicate else ""
        return f"LogAppendInfo({self.first_offset}..{self.last_offset}, {self.size_bytes} bytes{duplicate_text})"


class LogSlice:
    """Batches from a log: `records` is a part of one segment file, or b"" if there are no batches.

    `first_offset` is the base offset of the first batch, which may be before the requested offset; -1 if empty. The
    last batch may be cut off by the byte limit, as in Kafka.
    """

    __slots__ = ("first_offset", "records")

    def __init__(self, records: FileSlice | bytes, first_offset: int) -> None:
        self.records = records
        self.first_offset = first_offset

    def __len__(self) -> int:
        return len(self.records)


EMPTY_SLICE = LogSlice(b"", -1)
