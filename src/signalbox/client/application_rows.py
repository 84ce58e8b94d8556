"""The configuration keys of producers and consumers: Kafka's names; defaults are Kafka's unless the row says otherwise.

Read by `from_properties` of ProducerSettings, ConsumerSettings and GroupConsumerSettings, and by the reference page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from signalbox.client.failures import ConfigRejected
from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Validator, Value, at_least, one_of

_B, _S, _I, _L = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LIST
_Row = tuple[str, ConfigType, Value, Validator | None, str]

_PRODUCER: tuple[_Row, ...] = (
    ("linger.ms", _I, 5, at_least(0), "The time in milliseconds that a batch waits for further records."),
    ("batch.size", _I, 65_536, at_least(1),
     "The size in bytes at which a batch is full. Kafka's default is 16384."),
    ("compression.type", _S, "none", one_of("none", "gzip", "snappy", "lz4", "zstd"),
     "The compression of the batches."),
    ("delivery.timeout.ms", _I, 120_000, at_least(1),
     "The maximum time in milliseconds between `send` and the acknowledgement of a record, including retries."),
    ("buffer.memory", _I, 33_554_432, at_least(1),
     "The total size in bytes of records that are not acknowledged yet. When it is reached, `send` waits."),
    ("max.request.size", _I, 1_048_576, at_least(1), "The maximum size of a record in bytes, before compression."),
    ("transactional.id", _S, None, None,
     "The id under which the producer has transactions. A new producer with the same id fences the one before."),
    ("transaction.timeout.ms", _I, 60_000, at_least(1),
     "The time in milliseconds after which the coordinator aborts an open transaction."),
)  # fmt: skip

_FETCH: tuple[_Row, ...] = (
    ("fetch.max.wait.ms", _I, 500, at_least(0),
     "The maximum time in milliseconds that a broker waits for `fetch.min.bytes` before it answers a fetch."),
    ("fetch.min.bytes", _I, 1, at_least(0), "The minimum size in bytes of the response to a fetch."),
    ("fetch.max.bytes", _I, 52_428_800, at_least(1),
     "The maximum size in bytes of the response to a fetch. A larger first batch is returned."),
    ("max.partition.fetch.bytes", _I, 1_048_576, at_least(1),
     "The maximum size in bytes per partition in the response to a fetch. A larger first batch is returned."),
    ("auto.offset.reset", _S, "latest", one_of("earliest", "latest", "none"),
     "Where a partition is read from if its offset is out of range, or if the group has not committed any. none: an"
     " error."),
    ("isolation.level", _S, "read_uncommitted", one_of("read_uncommitted", "read_committed"),
     "read_committed: records of transactions are returned when they are committed, and those of aborted ones never."),
    ("check.crcs", _B, True, None, "Whether the checksums of batches are verified."),
)  # fmt: skip

_GROUP: tuple[_Row, ...] = (
    ("group.id", _S, None, None, "The consumer group. Required for a member of a group."),
    ("group.instance.id", _S, None, None,
     "The id of a static member (KIP-345): it may restart within its session timeout without a rebalance."),
    ("partition.assignment.strategy", _L, ["range", "cooperative-sticky"], one_of("range", "cooperative-sticky"),
     "The assignors that the member supports, in order of preference."),
    ("session.timeout.ms", _I, 45_000, at_least(1),
     "The time in milliseconds without a heartbeat after which the coordinator removes the member."),
    ("heartbeat.interval.ms", _I, 3_000, at_least(1), "The time in milliseconds between heartbeats."),
    ("max.poll.interval.ms", _I, 300_000, at_least(1),
     "The maximum time in milliseconds between two calls of `poll`. A member that exceeds it leaves the group."),
    ("enable.auto.commit", _B, True, None, "Whether `poll` commits the positions."),
    ("auto.commit.interval.ms", _I, 5_000, at_least(1), "The time in milliseconds between automatic commits."),
    ("client.rack", _S, None, None, "The rack of the member, which it sends to the leader of the group."),
)  # fmt: skip


def _table(rows: Iterable[_Row]) -> ConfigTable:
    return ConfigTable(ConfigRow(name, type_, default, doc, validator) for name, type_, default, validator, doc in rows)


PRODUCER_CONFIG = _table(_PRODUCER)
CONSUMER_CONFIG = _table((*_FETCH, *_GROUP))

_FIELDS_WITH_UNIT = {
    "batch.size": "batch_size_bytes",
    "buffer.memory": "buffer_memory_bytes",
    "max.request.size": "max_request_size_bytes",
}


def field_values(table: ConfigTable, properties: Mapping[str, str], settings_type: Any) -> dict[str, Any]:
    """The values of `properties`, with the table's defaults, by the fields of a settings class. ConfigRejected lists
    every fault; unknown keys are ignored."""
    values, faults = table.read(properties)
    if faults:
        raise ConfigRejected("\n".join(map(str, faults)))
    by_field = {_FIELDS_WITH_UNIT.get(key, key.replace(".", "_")): value for key, value in values.items()}
    return {field.name: by_field[field.name] for field in fields(settings_type) if field.name in by_field}
