"""The transactional ids of one partition of `__transaction_state`: components, replay, load and unload.

Each API has its own file; this one combines them on the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics
from signalbox.coordinator.config_rows import TransactionSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.transaction.add_partitions import AddPartitions
from signalbox.coordinator.transaction.describe_transactions import DescribeTransactions
from signalbox.coordinator.transaction.end_transaction import EndTransaction
from signalbox.coordinator.transaction.init_producer_id import InitProducerId
from signalbox.coordinator.transaction.markers.marker_sender import MarkerSender
from signalbox.coordinator.transaction.prepared_transactions import PreparedTransactions
from signalbox.coordinator.transaction.transaction_expiry import TransactionExpiry
from signalbox.coordinator.transaction.transactional_id import TransactionalId
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds


class TransactionShard:
    """State of one partition. The public components take decisions; only `replay` applies records.

    `request_markers` is called with each entry whose prepared state is committed; `level` returns the finalized
    `transaction.version`."""

    def __init__(
        self,
        timer: Timer,
        clock: Clock,
        settings: TransactionSettings,
        level: Callable[[], int],
        request_markers: Callable[[TransactionalId], None],
    ) -> None:
        self.ids = TransactionalIds()
        self._request_markers = request_markers
        now_ms = clock.now_ms
        end = EndTransaction(self.ids, self._send_markers, level, now_ms)
        self.end_transaction = end
        self.init_producer_id = InitProducerId(self.ids, end, now_ms)
        self.add_partitions = AddPartitions(self.ids, now_ms)
        self.prepared = PreparedTransactions(self.ids, end, timer, now_ms)
        self.describe_transactions = DescribeTransactions(self.ids, now_ms)
        self.expiry = TransactionExpiry(self.ids, end, settings, now_ms)

    def replay(self, record: CoordinatorRecord) -> None:
        self.ids.replay(record.key, record.value)

    def finish_loading(self) -> Iterator[None]:
        """Nothing to start: the coordinator has prepared transactions written again when the shard is active."""
        return iter(())

    def unload(self) -> Iterator[None]:
        """Nothing waits in the shard."""
        return iter(())

    def maintenance(self) -> Iterator[Decision[None]]:
        return self.expiry.remove_expired()

    def abort_timed_out(self, take_producer_id: Callable[[str], None]) -> Iterator[Decision[None]]:
        """The work of `transaction.abort.timed.out.transaction.cleanup.interval.ms` (`TransactionExpiry`)."""
        yield from self.prepared.write_again()
        yield from self.expiry.remove_unwritten()
        yield from self.expiry.abort_timed_out(take_producer_id)

    def _send_markers(self, entry: TransactionalId) -> None:
        entry.markers_requested = True
        self._request_markers(entry)


def register_transaction_metrics(
    metrics: Metrics, active_shards: Callable[[], list[TransactionShard]], markers: MarkerSender
) -> None:
    """Under Kafka's names, over the partitions that this broker coordinates."""

    def gauge(name: str, read: Callable[[], float]) -> None:
        metrics.gauge(MetricName("kafka.coordinator.transaction", "TransactionMarkerChannelManager", name), read)

    gauge("UnknownDestinationQueueSize", lambda: markers.without_leader)
    gauge("LogAppendRetryQueueSize", lambda: sum(shard.prepared.retrying for shard in active_shards()))
