"""The metrics of one group member, by Kafka's names (`consumer-coordinator-metrics`)."""

from __future__ import annotations

from collections.abc import Awaitable
from time import monotonic
from typing import TypeVar

from signalbox.client.client_metrics import Measure, Metrics

T = TypeVar("T")


class CoordinatorMetrics:
    """Each measure counts responses; a request without one is not counted."""

    def __init__(self) -> None:
        self.heartbeat_ms, self.commit_ms = Measure(), Measure()
        self.join_ms, self.sync_ms = Measure(), Measure()
        self.rebalance_ms = Measure()
        self.failed_rebalances = 0
        self._heartbeat_at: float | None = None
        self._rebalanced_at: float | None = None

    async def timed(self, measure: Measure, response: Awaitable[T]) -> T:
        """A response, whose time is recorded."""
        began = monotonic()
        result = await response
        now = monotonic()
        measure.record((now - began) * 1000)
        if measure is self.heartbeat_ms:
            self._heartbeat_at = now
        elif measure is self.rebalance_ms:
            self._rebalanced_at = now
        return result

    def as_metrics(self) -> Metrics:
        """`…-seconds-ago` is -1 while there was none, as in the Java client."""
        now = monotonic()
        return {
            "heartbeat-total": self.heartbeat_ms.count,
            "heartbeat-response-time-max": self.heartbeat_ms.largest,
            "commit-total": self.commit_ms.count,
            **self.commit_ms.as_metrics("commit-latency"),
            "join-total": self.join_ms.count,
            **self.join_ms.as_metrics("join-time"),
            "sync-total": self.sync_ms.count,
            **self.sync_ms.as_metrics("sync-time"),
            "rebalance-total": self.rebalance_ms.count,
            "rebalance-latency-total": self.rebalance_ms.total,
            **self.rebalance_ms.as_metrics("rebalance-latency"),
            "failed-rebalance-total": self.failed_rebalances,
            "last-heartbeat-seconds-ago": _seconds_ago(self._heartbeat_at, now),
            "last-rebalance-seconds-ago": _seconds_ago(self._rebalanced_at, now),
        }


def _seconds_ago(at: float | None, now: float) -> float:
    return -1.0 if at is None else now - at
