"""The audit trail of one broker: events are numbered, queued and written to the audit topic, in order.

Numbering happens when an event is recorded, writing later and in batches: a request never waits for its audit. A
full queue drops the event and keeps its number used, so a reader sees the gap. What the writer could not deliver
is tried again until the broker stops; at stop the queue is given a bounded time to drain.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from signalbox.common.audit_event import AuditEvent, encode_audit_event
from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_AUDIT_BATCH_EVENTS, MAX_AUDIT_EVENTS_QUEUED
from signalbox.common.metrics import MetricName, Metrics

log = logging.getLogger(__name__)

_DROPPED = MetricName("signalbox.audit", "AuditTrail", "DroppedEvents")
_WRITTEN = MetricName("signalbox.audit", "AuditTrail", "WrittenEvents")
_LINGER_S = 0.2
_RETRY_S = 1.0
_EVENTS_PER_SLICE = 8


class AuditDelivery(Protocol):
    """Where the trail goes: an ordinary idempotent producer on the audit topic."""

    async def deliver(self, key: bytes, values: Sequence[bytes]) -> None:
        """Returns once all are acknowledged by all in-sync replicas; raises when they are not."""
        ...


class AuditTrail:
    """Sink of all rooms of a broker, and the task that writes."""

    def __init__(self, node_id: int, clock: Clock, metrics: Metrics, enabled: bool = True) -> None:
        self._enabled = enabled  # audit.enable: without a writer nothing may pile up
        self._node_id = node_id
        self._clock = clock
        self._broker_epoch = -1
        self._queue: deque[tuple[int, AuditEvent]] = deque()
        self._next_seq = 0
        self._wake = asyncio.Event()
        self._delivering: asyncio.Task[None] | None = None
        self.dropped = 0
        self.written = 0
        metrics.gauge(_DROPPED, lambda: self.dropped)
        metrics.gauge(_WRITTEN, lambda: self.written)

    def record(self, event: AuditEvent) -> None:
        """Number and queue an event; never blocks, never raises."""
        if not self._enabled:
            return
        seq = self._next_seq
        self._next_seq = seq + 1
        if event.timestamp_ms < 0:
            event.timestamp_ms = self._clock.now_ms()
        if len(self._queue) >= MAX_AUDIT_EVENTS_QUEUED:
            self.dropped += 1
            return
        self._queue.append((seq, event))
        self._wake.set()

    @property
    def last_seq(self) -> int:
        """The number of the newest event, -1 before the first."""
        return self._next_seq - 1

    async def write(self, broker_epoch: int, delivery: AuditDelivery) -> None:
        """Write what is recorded until cancelled. `broker_epoch` tells this life of the broker from its others."""
        self._broker_epoch = broker_epoch
        while True:
            await self._wake.wait()
            await asyncio.sleep(_LINGER_S)
            self._wake.clear()
            while self._queue:
                await self._write_batch(delivery)

    async def drain(self, delivery: AuditDelivery, timeout_s: float) -> None:
        """Write the rest at stop, for at most `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._queue:
                    await self._write_batch(delivery)
        except TimeoutError:
            log.warning("stopped with %d audit events that could not be written", len(self._queue))

    async def close(self) -> None:
        """Nothing more is delivered; a delivery that is under way is given up."""
        if self._delivering is not None:
            self._delivering.cancel()
            await asyncio.gather(self._delivering, return_exceptions=True)

    async def _write_batch(self, delivery: AuditDelivery) -> None:
        """One batch. Who is cancelled here leaves the delivery running, and the next caller waits for that one: sent
        anew, its events would stand in the topic twice."""
        if self._delivering is None or self._delivering.done():
            self._delivering = asyncio.ensure_future(self._deliver_batch(delivery))
        await asyncio.shield(self._delivering)

    async def _deliver_batch(self, delivery: AuditDelivery) -> None:
        batch = [self._queue[index] for index in range(min(len(self._queue), MAX_AUDIT_BATCH_EVENTS))]
        values = []
        for number, (seq, event) in enumerate(batch, 1):
            values.append(encode_audit_event(event, broker_id=self._node_id, broker_epoch=self._broker_epoch, seq=seq))
            if not number % _EVENTS_PER_SLICE:
                await asyncio.sleep(0)
        while True:
            try:
                await delivery.deliver(str(self._node_id).encode(), values)
                break
            except Exception as error:
                log.warning("audit events are waiting (%d queued): %s", len(self._queue), error)
                await asyncio.sleep(_RETRY_S)
        for _ in batch:
            self._queue.popleft()
        self.written += len(batch)
