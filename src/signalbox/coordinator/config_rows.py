"""The coordinator's configuration: Kafka's keys, defaults and bounds, and the topic configs of the offsets topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, Value, at_least, between

_INT_MAX = 2**31 - 1
_I, _L = ConfigType.INT, ConfigType.LONG


def _rows_of_topic(topic: str, prefix: str, load_buffer: str) -> tuple[ConfigRow, ...]:
    """What an internal topic is created with, and how it is loaded. `load_buffer`: the key, which Kafka names otherwise
    than the others."""
    return (
        ConfigRow(f"{prefix}.num.partitions", _I, 50,
                  f"The number of partitions with which {topic} is created.", at_least(1)),
        ConfigRow(f"{prefix}.replication.factor", ConfigType.SHORT, 3,
                  f"The replication factor with which {topic} is created.", at_least(1)),
        ConfigRow(f"{prefix}.segment.bytes", _I, 104_857_600,
                  f"The segment size in bytes with which {topic} is created.", at_least(1)),
        ConfigRow(load_buffer, _I, 5_242_880,
                  f"The maximum number of bytes that are read at a time while a partition of {topic} is loaded.",
                  at_least(1)),
    )  # fmt: skip


COORDINATOR_CONFIG = ConfigTable(
    (
        *_rows_of_topic("__consumer_offsets", "offsets.topic", "offsets.load.buffer.size"),
        *_rows_of_topic("__transaction_state", "transaction.state.log", "transaction.state.log.load.buffer.size"),
        ConfigRow("group.min.session.timeout.ms", _I, 6_000,
                  "The minimum session timeout in milliseconds that a member may request.", at_least(0)),
        ConfigRow("group.max.session.timeout.ms", _I, 1_800_000,
                  "The maximum session timeout in milliseconds that a member may request.", at_least(1)),
        ConfigRow("group.initial.rebalance.delay.ms", _I, 3_000,
                  "The time in milliseconds that a new group"
                  " waits for more members before its first rebalance.", at_least(0)),
        ConfigRow("group.max.size", _I, _INT_MAX, "The maximum number of members of a group.", at_least(1)),
        ConfigRow("group.coordinator.append.linger.ms", _I, -1,
                  "The time in milliseconds that the coordinator accumulates writes in one batch. -1 means until the"
                  " end of the current event loop iteration.", at_least(-1)),
        ConfigRow("offset.metadata.max.bytes", _I, 4_096,
                  "The maximum number of characters in the metadata string of a committed offset.", at_least(0)),
        ConfigRow("offsets.commit.timeout.ms", _I, 5_000,
                  "The maximum time in milliseconds that a write"
                  " of the coordinator waits for all in-sync replicas.", at_least(1)),
        ConfigRow("offsets.retention.minutes", _I, 10_080,
                  "The time in minutes for which offsets are kept after their group has lost its last member or, for a"
                  " group without members, after their commit.", at_least(1)),
        ConfigRow("offsets.retention.check.interval.ms", _L, 600_000,
                  "The interval in milliseconds at which expired offsets are removed.", at_least(1)),
        ConfigRow("offsets.topic.compression.codec", _I, 0,
                  "The compression codec of the coordinator's batches: 0"
                  " none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", between(0, 4)),
        ConfigRow("transaction.state.log.min.isr", _I, 2,
                  "The value of min.insync.replicas with which __transaction_state is created.", at_least(1)),
        ConfigRow("transaction.max.timeout.ms", _I, 900_000,
                  "The maximum transaction timeout in milliseconds that a producer may request. Longer ones are"
                  " rejected with INVALID_TRANSACTION_TIMEOUT.", at_least(1)),
        ConfigRow("transaction.abort.timed.out.transaction.cleanup.interval.ms", _I, 10_000,
                  "The interval in milliseconds at which transactions that have timed out are aborted.", at_least(1)),
        ConfigRow("transaction.remove.expired.transaction.cleanup.interval.ms", _I, 3_600_000,
                  "The interval in milliseconds at which expired transactional ids are removed.", at_least(1)),
        ConfigRow("transaction.partition.verification.enable", ConfigType.BOOLEAN, True,
                  "Whether a leader asks the transaction coordinator before it appends the first batch of a transaction"
                  " (KIP-890). Producers of transaction version 2 are always verified.",
                  dynamic=Dynamic.CLUSTER_WIDE),
        ConfigRow("add.partitions.to.txn.retry.backoff.ms", _I, 20,
                  "The time in milliseconds after which a leader asks the transaction coordinator again while the"
                  " previous transaction of a producer is being completed.", at_least(1)),
        ConfigRow("add.partitions.to.txn.retry.backoff.max.ms", _I, 100,
                  "The time in milliseconds after which a leader no longer asks again and returns"
                  " CONCURRENT_TRANSACTIONS to the producer.", at_least(0)),
        ConfigRow("transactional.id.expiration.ms", _I, 604_800_000,
                  "The time in milliseconds after its last transaction for which the state of a transactional id is"
                  " kept.", at_least(1)),
    )
)  # fmt: skip


def _numbers(values: Mapping[str, Value]) -> dict[str, int]:
    """The values of `COORDINATOR_CONFIG`, of which all that are read below are numbers."""
    return {name: cast(int, value) for name, value in values.items() if name in COORDINATOR_CONFIG}


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Settings of the group shard; `GroupSettings()` = Kafka's defaults."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = _INT_MAX
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_max_size: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000

    @staticmethod
    def read(values: Mapping[str, Value]) -> GroupSettings:
        """From the typed values of `COORDINATOR_CONFIG`."""
        number = _numbers(values)
        return GroupSettings(
            min_session_timeout_ms=number["group.min.session.timeout.ms"],
            max_session_timeout_ms=number["group.max.session.timeout.ms"],
            initial_rebalance_delay_ms=number["group.initial.rebalance.delay.ms"],
            max_size=number["group.max.size"],
            offset_metadata_max_size=number["offset.metadata.max.bytes"],
            offsets_retention_ms=number["offsets.retention.minutes"] * 60_000,
        )


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Settings of the transaction coordinator; `TransactionSettings()` = Kafka's defaults. `partition_count`: of
    `__transaction_state`, while the topic is not in the metadata image."""

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 604_800_000
    abort_timed_out_interval_ms: int = 10_000
    partition_count: int = 50

    @staticmethod
    def read(values: Mapping[str, Value]) -> TransactionSettings:
        """From the typed values of `COORDINATOR_CONFIG`; the partition count is not among them."""
        number = _numbers(values)
        return TransactionSettings(
            max_timeout_ms=number["transaction.max.timeout.ms"],
            id_expiration_ms=number["transactional.id.expiration.ms"],
            abort_timed_out_interval_ms=number["transaction.abort.timed.out.transaction.cleanup.interval.ms"],
        )


_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class RuntimeKeys:
    """The keys of a node's configuration that a coordinator's runtime reads: Kafka's prefixes differ per coordinator.
    A key that a coordinator does not have is ""; the default of `RuntimeSettings` applies."""

    load_buffer: str
    commit_timeout: str
    maintenance_interval: str
    append_linger: str = ""
    compression: str = ""


GROUP_RUNTIME_KEYS = RuntimeKeys(
    load_buffer="offsets.load.buffer.size",
    commit_timeout="offsets.commit.timeout.ms",
    maintenance_interval="offsets.retention.check.interval.ms",
    append_linger="group.coordinator.append.linger.ms",
    compression="offsets.topic.compression.codec",
)
TRANSACTION_RUNTIME_KEYS = RuntimeKeys(
    load_buffer="transaction.state.log.load.buffer.size",
    commit_timeout="request.timeout.ms",
    maintenance_interval="transaction.remove.expired.transaction.cleanup.interval.ms",
)


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """Settings of the runtime, for any kind of shard; `RuntimeSettings()` = Kafka's defaults for groups."""

    load_buffer_bytes: int = 5_242_880
    commit_timeout_ms: int = 5_000
    maintenance_interval_ms: int = 600_000
    append_linger_ms: int = -1
    compression: str = "none"
    max_batch_bytes: int = 1_048_588

    @staticmethod
    def read(values: Mapping[str, Value], keys: RuntimeKeys) -> RuntimeSettings:
        """From the typed values of a node's configuration."""
        defaults = RuntimeSettings()
        return RuntimeSettings(
            load_buffer_bytes=cast(int, values[keys.load_buffer]),
            commit_timeout_ms=cast(int, values[keys.commit_timeout]),
            maintenance_interval_ms=cast(int, values[keys.maintenance_interval]),
            append_linger_ms=cast(int, values.get(keys.append_linger, defaults.append_linger_ms)),
            compression=_CODECS[cast(int, values.get(keys.compression, 0))],
        )


def transactions_topic_configs(min_insync_replicas: int, segment_bytes: int) -> dict[str, str]:
    """Topic configs with which __transaction_state is created."""
    return {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": str(min_insync_replicas),
        "segment.bytes": str(segment_bytes),
    }


def offsets_topic_configs(segment_bytes: int) -> dict[str, str]:
    """Topic configs with which __consumer_offsets is created."""
    return {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": str(segment_bytes)}
