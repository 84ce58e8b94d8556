# ruff: noqa: E501 (a table reads better with one row per key)
"""The rows of topic configs: the keys of a topic, with Kafka's names, defaults and bounds.

Three packages read them: the controller rejects wrong values, storage and replication apply them, DescribeConfigs
returns them. They are in this package because those packages may not import each other. `synonym` is the broker key
that gives the default.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config.config_table import (
    ConfigRow,
    ConfigTable,
    ConfigType,
    Value,
    at_least,
    between,
    one_of,
)

_LONG_MAX = 2**63 - 1
_B, _S, _I, _L, _D, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)


def _throttled_replicas(value: Value) -> str | None:
    pieces = value if isinstance(value, list) else []
    for piece in pieces:
        partition, colon, broker = piece.partition(":")
        if piece != "*" and not (piece.isascii() and colon and partition.isdigit() and broker.isdigit()):
            return f"{piece!r} is neither * nor partition:broker"
    return None


def _gzip_level(value: Value) -> str | None:
    """-1 is zlib's default; 0 (no compression) is not one of Kafka's levels."""
    assert isinstance(value, int)
    return None if value == -1 or 1 <= value <= 9 else f"{value} is neither -1 nor between 1 and 9"


def _no_tiered_storage(value: Value) -> str | None:
    return "there is no tiered storage" if value else None


TOPIC_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, synonym=synonym)
    for name, type_, default, validator, synonym, doc in (
        ("cleanup.policy", _LIST, ["delete"], one_of("delete", "compact"), "log.cleanup.policy",
         "The policy for old segments: delete them, retain the last record of each key (compact), or both."),
        ("compression.gzip.level", _I, -1, _gzip_level, "compression.gzip.level", "The compression level for gzip."),
        ("compression.lz4.level", _I, 9, between(1, 17), "compression.lz4.level", "The compression level for lz4."),
        ("compression.zstd.level", _I, 3, between(-131072, 22), "compression.zstd.level", "The compression level for zstd."),
        ("compression.type", _S, "producer", one_of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
         "compression.type", "The compression codec of stored batches. `producer` retains the codec of the producer."),
        ("delete.retention.ms", _L, 86_400_000, at_least(0), "log.cleaner.delete.retention.ms",
         "The time in milliseconds for which tombstones of a compacted topic are retained."),
        ("file.delete.delay.ms", _L, 60_000, at_least(0), "log.segment.delete.delay.ms",
         "The time in milliseconds between marking a file as deleted and removing it."),
        ("flush.messages", _L, _LONG_MAX, at_least(1), "log.flush.interval.messages", "The number of records after which the log is flushed to disk (fsync)."),
        ("flush.ms", _L, _LONG_MAX, at_least(0), "log.flush.interval.ms", "The time in milliseconds after which the log is flushed to disk (fsync)."),
        ("follower.replication.throttled.replicas", _LIST, [], _throttled_replicas, None,
         "The list of replicas whose replication is throttled on the follower: partition:broker pairs, or * for all."),
        ("index.interval.bytes", _I, 4096, at_least(0), "log.index.interval.bytes", "The number of bytes of log per entry of the offset index."),
        ("leader.replication.throttled.replicas", _LIST, [], _throttled_replicas, None,
         "The list of replicas whose replication is throttled on the leader: partition:broker pairs, or * for all."),
        ("local.retention.bytes", _L, -2, at_least(-2), "log.local.retention.bytes", "Tiered storage: the maximum number of bytes that are retained locally."),
        ("local.retention.ms", _L, -2, at_least(-2), "log.local.retention.ms", "Tiered storage: the time in milliseconds for which segments are retained locally."),
        ("max.compaction.lag.ms", _L, _LONG_MAX, at_least(1), "log.cleaner.max.compaction.lag.ms",
         "The maximum time in milliseconds for which a record is not compacted."),
        ("max.decompressed.message.bytes", _I, 2**31 - 9, between(1, 2**31 - 9), "max.decompressed.message.bytes",
         "The maximum size in bytes of a record of a compressed batch. Larger records are rejected with INVALID_RECORD."),
        ("max.message.bytes", _I, 1_048_588, at_least(0), "message.max.bytes", "The maximum size in bytes of a record batch."),
        ("message.timestamp.after.max.ms", _L, 3_600_000, at_least(0), "log.message.timestamp.after.max.ms",
         "The maximum time in milliseconds by which the timestamp of a record may be later than the time of the broker."),
        ("message.timestamp.before.max.ms", _L, _LONG_MAX, at_least(0), "log.message.timestamp.before.max.ms",
         "The maximum time in milliseconds by which the timestamp of a record may be earlier than the time of the broker."),
        ("message.timestamp.type", _S, "CreateTime", one_of("CreateTime", "LogAppendTime"),
         "log.message.timestamp.type", "Whether the timestamp of a record is its create time (CreateTime) or the time at which the broker appends it (LogAppendTime)."),
        ("min.cleanable.dirty.ratio", _D, 0.5, between(0, 1), "log.cleaner.min.cleanable.ratio",
         "The minimum ratio of uncompacted log to total log at which a log is compacted."),
        ("min.compaction.lag.ms", _L, 0, at_least(0), "log.cleaner.min.compaction.lag.ms",
         "The minimum time in milliseconds for which a record is not compacted."),
        ("min.insync.replicas", _I, 1, at_least(1), "min.insync.replicas",
         "The minimum number of in-sync replicas for a write with acks=all."),
        ("preallocate", _B, False, None, "log.preallocate", "Whether the file of a new segment is preallocated."),
        ("remote.log.copy.disable", _B, False, None, None, "Tiered storage: whether copying to the remote storage is disabled."),
        ("remote.log.delete.on.disable", _B, False, None, None, "Tiered storage: whether remote segments are deleted when tiered storage is disabled."),
        ("remote.storage.enable", _B, False, _no_tiered_storage, None, "Whether tiered storage is enabled. Only false is supported."),
        ("retention.bytes", _L, -1, None, "log.retention.bytes", "The maximum number of bytes that a partition retains. -1 means no limit."),
        ("retention.ms", _L, 604_800_000, at_least(-1), "log.retention.ms", "The time in milliseconds for which records are retained. -1 means no limit."),
        ("segment.bytes", _I, 1_073_741_824, at_least(14), "log.segment.bytes", "The maximum size in bytes of a segment."),
        ("segment.index.bytes", _I, 10_485_760, at_least(4), "log.index.size.max.bytes", "The maximum size in bytes of an index file."),
        ("segment.jitter.ms", _L, 0, at_least(0), "log.roll.jitter.ms", "The maximum random time in milliseconds that is subtracted from segment.ms."),
        ("segment.ms", _L, 604_800_000, at_least(1), "log.roll.ms", "The maximum age in milliseconds of a segment before a new one is rolled."),
        ("unclean.leader.election.enable", _B, False, None, "unclean.leader.election.enable",
         "Whether a replica that is not in the ISR can become the leader as a last resort."),
    )
)  # fmt: skip

_MIN_LAG, _MAX_LAG = "min.compaction.lag.ms", "max.compaction.lag.ms"


def topic_config_problem(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the values together, in Kafka's words, or None. The values must have been parsed before."""
    shortest, longest = (
        TOPIC_CONFIG[name].parse(configs[name]) if name in configs else None for name in (_MIN_LAG, _MAX_LAG)
    )
    if isinstance(shortest, int) and isinstance(longest, int) and shortest > longest:
        return f"conflict topic config setting {_MIN_LAG} ({shortest}) > {_MAX_LAG} ({longest})"
    return None
