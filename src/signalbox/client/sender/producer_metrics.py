"""The metrics of one producer, by Kafka's names (`producer-metrics`)."""

from __future__ import annotations

from signalbox.client.client_metrics import Measure, Metrics
from signalbox.client.sender.producer_batch import ProducerBatch


class ProducerMetrics:
    """Filled by the sender. Sizes are those of batches, compressed."""

    def __init__(self) -> None:
        self._sent = 0
        self._retried = 0
        self._failed = 0
        self._batch_bytes = Measure()
        self._queue_ms = Measure()
        self._records_per_request = Measure()
        self._latency_ms = Measure()

    def sent(self, batches: list[ProducerBatch], compression: str, now: float) -> None:
        """One request with these batches is sent, at loop time `now`; their attempts include this one."""
        for batch in batches:
            count = len(batch.records)
            if batch.attempts > 1:
                self._retried += count
            else:
                self._sent += count
                self._queue_ms.record((now - batch.created_at) * 1000)
            self._batch_bytes.record(len(batch.encoded(compression)))
        self._records_per_request.record(sum(len(batch.records) for batch in batches))

    def answered(self, latency_s: float) -> None:
        """A response has arrived."""
        self._latency_ms.record(latency_s * 1000)

    def failed(self, batch: ProducerBatch) -> None:
        """The records of a batch are given up."""
        self._failed += len(batch.records)

    def as_metrics(self) -> Metrics:
        return {
            "record-send-total": self._sent,
            "record-retry-total": self._retried,
            "record-error-total": self._failed,
            **self._batch_bytes.as_metrics("batch-size"),
            **self._queue_ms.as_metrics("record-queue-time"),
            **self._latency_ms.as_metrics("request-latency"),
            "records-per-request-avg": self._records_per_request.as_metrics("records")["records-avg"],
        }
