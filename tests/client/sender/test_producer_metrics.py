from __future__ import annotations

from signalbox.client.sender.producer_batch import ProducerBatch, ProducerIdentity
from signalbox.client.sender.producer_metrics import ProducerMetrics
from signalbox.protocol.records.record_batch import Record


def batch_of(count: int, attempts: int) -> ProducerBatch:
    batch = ProducerBatch(created_at=10.0, deadline=20.0)
    batch.records = [Record(value=b"x") for _ in range(count)]
    batch.assign(ProducerIdentity(1, 0, None), 0)
    batch.attempts = attempts
    return batch


def test_a_retry_is_no_second_send() -> None:
    metrics = ProducerMetrics()
    metrics.sent([batch_of(3, 1), batch_of(1, 1)], "none", now=10.5)
    metrics.sent([batch_of(3, 2)], "none", now=12.0)
    metrics.answered(0.25)
    metrics.failed(batch_of(3, 2))
    values = metrics.as_metrics()
    assert (values["record-send-total"], values["record-retry-total"], values["record-error-total"]) == (4, 3, 3)
    assert (values["record-queue-time-avg"], values["request-latency-max"]) == (500, 250)
    assert values["records-per-request-avg"] == 3.5
