# ruff: noqa: E501 (a table reads better with one row per key)
"""The rows of topic configs: what a topic may set, Kafka's names, defaults and bounds.

Three rooms read them: the controller refuses wrong ones, storage and replication obey them, DescribeConfigs
shows them. They stand here because those rooms are strangers. `synonym` is the broker key that gives the default.
"""

from __future__ import annotations

from signalbox.common.config_table import (
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
    """-1 is zlib's own choice; 0, no compression at all, is none of Kafka's levels."""
    assert isinstance(value, int)
    return None if value == -1 or 1 <= value <= 9 else f"{value} is neither -1 nor between 1 and 9"


def _no_tiered_storage(value: Value) -> str | None:
    return "there is no tiered storage" if value else None


TOPIC_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, synonym=synonym)
    for name, type_, default, validator, synonym, doc in (
        ("cleanup.policy", _LIST, ["delete"], one_of("delete", "compact"), "log.cleanup.policy",
         "What happens to old segments: delete them, keep the last record of each key, or both. Logs are not compacted yet: `compact` alone keeps every record for ever."),
        ("compression.gzip.level", _I, -1, _gzip_level, "compression.gzip.level", "Level for gzip."),
        ("compression.lz4.level", _I, 9, between(1, 17), "compression.lz4.level", "Level for lz4."),
        ("compression.zstd.level", _I, 3, between(-131072, 22), "compression.zstd.level", "Level for zstd."),
        ("compression.type", _S, "producer", one_of("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
         "compression.type", "How batches are stored; `producer` keeps them as they came."),
        ("delete.retention.ms", _L, 86_400_000, at_least(0), "log.cleaner.delete.retention.ms",
         "How long tombstones of a compacted topic stay, ms."),
        ("file.delete.delay.ms", _L, 60_000, at_least(0), "log.segment.delete.delay.ms",
         "Wait between marking a file as deleted and removing it, ms."),
        ("flush.messages", _L, _LONG_MAX, at_least(1), "log.flush.interval.messages", "Records between two fsyncs."),
        ("flush.ms", _L, _LONG_MAX, at_least(0), "log.flush.interval.ms", "Time between two fsyncs, ms."),
        ("follower.replication.throttled.replicas", _LIST, [], _throttled_replicas, None,
         "Replicas whose fetching is throttled: partition:broker pairs, or *."),
        ("index.interval.bytes", _I, 4096, at_least(0), "log.index.interval.bytes", "Log bytes per index entry."),
        ("leader.replication.throttled.replicas", _LIST, [], _throttled_replicas, None,
         "Replicas whose serving is throttled: partition:broker pairs, or *."),
        ("local.retention.bytes", _L, -2, at_least(-2), "log.local.retention.bytes", "Tiered storage: local bytes kept."),
        ("local.retention.ms", _L, -2, at_least(-2), "log.local.retention.ms", "Tiered storage: local time kept, ms."),
        ("max.compaction.lag.ms", _L, _LONG_MAX, at_least(1), "log.cleaner.max.compaction.lag.ms",
         "Longest time a record stays uncompacted, ms."),
        ("max.message.bytes", _I, 1_048_588, at_least(0), "message.max.bytes", "Largest record batch accepted, bytes."),
        ("message.timestamp.after.max.ms", _L, 3_600_000, at_least(0), "log.message.timestamp.after.max.ms",
         "How far in the future a record's timestamp may lie, ms."),
        ("message.timestamp.before.max.ms", _L, _LONG_MAX, at_least(0), "log.message.timestamp.before.max.ms",
         "How far in the past a record's timestamp may lie, ms."),
        ("message.timestamp.type", _S, "CreateTime", one_of("CreateTime", "LogAppendTime"),
         "log.message.timestamp.type", "Whose clock stamps the records."),
        ("min.cleanable.dirty.ratio", _D, 0.5, between(0, 1), "log.cleaner.min.cleanable.ratio",
         "Uncompacted share at which a log is compacted."),
        ("min.compaction.lag.ms", _L, 0, at_least(0), "log.cleaner.min.compaction.lag.ms",
         "Shortest time a record stays uncompacted, ms."),
        ("min.insync.replicas", _I, 1, at_least(1), "min.insync.replicas",
         "In-sync replicas that acks=all needs."),
        ("preallocate", _B, False, None, "log.preallocate", "Whether a new segment's file is preallocated."),
        ("remote.log.copy.disable", _B, False, None, None, "Tiered storage: copy nothing any more."),
        ("remote.log.delete.on.disable", _B, False, None, None, "Tiered storage: delete when disabled."),
        ("remote.storage.enable", _B, False, _no_tiered_storage, None, "Tiered storage; only false is supported."),
        ("retention.bytes", _L, -1, None, "log.retention.bytes", "Bytes a partition keeps; -1 is no limit."),
        ("retention.ms", _L, 604_800_000, at_least(-1), "log.retention.ms", "How long records are kept, ms; -1 for ever."),
        ("segment.bytes", _I, 1_073_741_824, at_least(14), "log.segment.bytes", "Size at which a segment is rolled, bytes."),
        ("segment.index.bytes", _I, 10_485_760, at_least(4), "log.index.size.max.bytes", "Largest index file, bytes."),
        ("segment.jitter.ms", _L, 0, at_least(0), "log.roll.jitter.ms", "Random part taken off segment.ms."),
        ("segment.ms", _L, 604_800_000, at_least(1), "log.roll.ms", "Age at which a segment is rolled, ms."),
        ("unclean.leader.election.enable", _B, False, None, "unclean.leader.election.enable",
         "Whether a replica that is not in sync may lead as a last resort."),
    )
)  # fmt: skip
