"""Transactions on a `MemoryCluster`: a producer's batches, with verification switched off, and markers."""

from __future__ import annotations

from typing import Any

from signalbox.common.clock import ManualClock
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from tests.replication.memory_cluster import TOPIC, MemoryCluster


def transactional_batch(*values: bytes, producer_id: int = 5, producer_epoch: int = 0, sequence: int = 0) -> bytearray:
    """A batch of a transaction, as sent by a producer."""
    return bytearray(
        encode_batch(
            [Record(value=value) for value in values],
            timestamp_ms=ManualClock().now_ms(),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
    )


def produce_in_transaction(
    cluster: MemoryCluster, broker_id: int, producer_id: int, *values: bytes, sequence: int = 0
) -> Any:
    """Appends to partition 0. The result may be pending: run the cluster to complete it."""
    batch = transactional_batch(*values, producer_id=producer_id, sequence=sequence)
    key = (TOPIC, 0)
    return cluster.brokers[broker_id].manager.append([(key, batch)], -1, 1_000, guard_by_partition={key: SWITCHED_OFF})


def end_transaction(
    cluster: MemoryCluster,
    broker_id: int,
    producer_id: int,
    *,
    is_commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 1,
) -> Any:
    """Writes a transaction marker to partition 0. The result may be pending."""
    marker = TransactionMarker(is_commit, coordinator_epoch)
    batch = encode_marker(producer_id, epoch, marker, cluster.clock.now_ms())
    return cluster.brokers[broker_id].manager.append_markers([((TOPIC, 0), batch, 0)], 1_000)
