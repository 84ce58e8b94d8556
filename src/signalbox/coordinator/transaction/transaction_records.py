"""The records of `__transaction_state` in Kafka's own format: a transactional id and its `Transaction`.

Kafka's tools (`kafka-dump-log --transaction-log-decoder`) and a Kafka coordinator can read them. Values are written in
version 1 from `transaction.version` 1 on, in version 0 below it: a broker of an earlier Kafka does not read version 1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.transaction.transaction_state import STATES_BY_CODE, TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction
from signalbox.protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue

_VERSION = struct.Struct(">h")
_KEY_VERSION = 0
_VALUE_VERSIONS = range(2)
_FLEXIBLE_VALUE_FROM_LEVEL = 1


class TransactionRecordSerde:
    """A `CoordinatorRecord` of a transaction shard has the transactional id as key and a `Transaction` as value.
    `level` returns the finalized `transaction.version`."""

    __slots__ = ("_level",)

    def __init__(self, level: Callable[[], int]) -> None:
        self._level = level

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        key = _VERSION.pack(_KEY_VERSION) + TransactionLogKey(transactional_id=record.key).encode(_KEY_VERSION)
        if record.value is None:
            return key, None
        version = 1 if self._level() >= _FLEXIBLE_VALUE_FROM_LEVEL else 0
        return key, _VERSION.pack(version) + _message_of(record.value, version).encode(version)

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """None for versions that this release does not know. Raises DecodeError or struct.error for corrupt bytes,
        KeyError for an unknown state."""
        (key_version,) = _VERSION.unpack_from(key)
        if key_version != _KEY_VERSION:
            return None
        name = TransactionLogKey.decode(key, _KEY_VERSION, _VERSION.size).transactional_id
        if value is None:
            return CoordinatorRecord(name, None)
        (version,) = _VERSION.unpack_from(value)
        if version not in _VALUE_VERSIONS:
            return None
        return CoordinatorRecord(name, _transaction_of(TransactionLogValue.decode(value, version, _VERSION.size)))


def _message_of(transaction: Transaction, version: int) -> TransactionLogValue:
    partitions = None
    if transaction.state is not TransactionState.EMPTY:
        partitions = [
            TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=numbers)
            for topic, numbers in numbers_by_topic(transaction.partitions).items()
        ]
    message = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.code,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version in TransactionLogValue.flexible_versions:
        message.previous_producer_id = transaction.previous_producer_id
        message.next_producer_id = transaction.next_producer_id
        message.client_transaction_version = transaction.client_version
    return message


def _transaction_of(message: TransactionLogValue) -> Transaction:
    return Transaction(
        producer_id=message.producer_id,
        previous_producer_id=message.previous_producer_id,
        next_producer_id=message.next_producer_id,
        producer_epoch=message.producer_epoch,
        timeout_ms=message.transaction_timeout_ms,
        state=STATES_BY_CODE[message.transaction_status],
        partitions=frozenset(
            TopicPartition(row.topic, partition)
            for row in message.transaction_partitions or ()
            for partition in row.partition_ids
        ),
        updated_ms=message.transaction_last_update_timestamp_ms,
        started_ms=message.transaction_start_timestamp_ms,
        client_version=message.client_transaction_version,
    )
