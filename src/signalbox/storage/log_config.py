"""The configuration of a log: the topic configs for storage, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.common.config.topic_config import TOPIC_CONFIG

_FIELDS = {
    "cleanup_policy": "cleanup.policy",
    "compression_gzip_level": "compression.gzip.level",
    "compression_lz4_level": "compression.lz4.level",
    "compression_type": "compression.type",
    "compression_zstd_level": "compression.zstd.level",
    "delete_retention_ms": "delete.retention.ms",
    "file_delete_delay_ms": "file.delete.delay.ms",
    "flush_messages": "flush.messages",
    "flush_ms": "flush.ms",
    "index_interval_bytes": "index.interval.bytes",
    "max_compaction_lag_ms": "max.compaction.lag.ms",
    "max_decompressed_message_bytes": "max.decompressed.message.bytes",
    "max_message_bytes": "max.message.bytes",
    "message_timestamp_after_max_ms": "message.timestamp.after.max.ms",
    "message_timestamp_before_max_ms": "message.timestamp.before.max.ms",
    "message_timestamp_type": "message.timestamp.type",
    "min_cleanable_dirty_ratio": "min.cleanable.dirty.ratio",
    "min_compaction_lag_ms": "min.compaction.lag.ms",
    "preallocate": "preallocate",
    "retention_bytes": "retention.bytes",
    "retention_ms": "retention.ms",
    "segment_bytes": "segment.bytes",
    "segment_index_bytes": "segment.index.bytes",
    "segment_jitter_ms": "segment.jitter.ms",
    "segment_ms": "segment.ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Immutable: when a topic config changes, the log gets a new one. -1 means no limit for both retentions."""

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = 2**63 - 1
    max_decompressed_message_bytes: int = 2**31 - 9
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000

    @property
    def deletes(self) -> bool:
        """Whether retention deletes old segments."""
        return "delete" in self.cleanup_policy

    @property
    def compression_level(self) -> int | None:
        """The level for `compression_type`; None for a codec without levels."""
        levels = {
            "gzip": self.compression_gzip_level,
            "lz4": self.compression_lz4_level,
            "zstd": self.compression_zstd_level,
        }
        return levels.get(self.compression_type)

    @property
    def compacts(self) -> bool:
        """Whether records may be missing in the middle of the log."""
        return "compact" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The age at which a segment is closed: records in the active one are not compacted."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compacts else self.segment_ms

    @property
    def log_append_time(self) -> bool:
        """Whether batches get the timestamp of the broker's clock."""
        return self.message_timestamp_type == "LogAppendTime"

    @classmethod
    def from_topic_config(
        cls, values: Mapping[str, str], broker_defaults: Mapping[str, Any] | None = None
    ) -> LogConfig:
        """From a topic's own configs (text) over the broker's values (typed, by the rows' `synonym` keys).

        ValueError names the first config that cannot be parsed; the controller has rejected such configs before.
        """
        typed: dict[str, Any] = {}
        for field, name in _FIELDS.items():
            row = TOPIC_CONFIG[name]
            value: Any = row.default
            if name in values:
                try:
                    value = row.parse(values[name])
                except ValueError as error:
                    raise ValueError(f"topic config {name}: {error}") from error
            elif broker_defaults and row.synonym and broker_defaults.get(row.synonym) is not None:
                value = broker_defaults[row.synonym]
            typed[field] = tuple(value) if isinstance(value, list) else value
        return cls(**typed)
