"""The audit trail of one broker: events are numbered, queued and written to the audit topic, in order.

An event is numbered when it is recorded, and written later in a batch: a request never waits for its audit event. When
the queue is full, the event is dropped but its number stays used, so that a reader sees the gap. So is an event that
the topic never admits, since it is too large. Any other failed delivery is retried until the broker stops; at stop the
queue has a bounded time to drain.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from signalbox.common.audit_event import AuditEvent, clip_texts, encode_audit_event
from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yielding
from signalbox.common.limits import MAX_AUDIT_BATCH_EVENTS, MAX_AUDIT_EVENTS_QUEUED
from signalbox.common.metrics import MetricName, Metrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.protocol.error_table import Error, KafkaError

log = logging.getLogger(__name__)

_DROPPED = MetricName("signalbox.audit", "AuditTrail", "DroppedEvents")
_WRITTEN = MetricName("signalbox.audit", "AuditTrail", "WrittenEvents")
_LINGER_S = 0.2
_RETRY_S = 1.0
_WARN_AFTER_S = 10.0  # failures are logged as warnings only after this time


class AuditDelivery(Protocol):
    """Destination of the audit trail: an ordinary idempotent producer on the audit topic."""

    async def deliver(self, key: bytes, values: Sequence[bytes]) -> Sequence[BaseException | None]:
        """The result of each value: None when all in-sync replicas have acknowledged it, else its failure. Raises if
        none could be sent."""
        ...


class AuditTrail:
    """The audit sink of all packages of a broker, and the task that writes."""

    def __init__(
        self, node_id: int, clock: Clock, metrics: Metrics, scheduler: TaskScheduler, enabled: bool = True
    ) -> None:
        self._enabled = enabled  # signalbox.audit.enable: without a writer the queue must stay empty
        self._node_id = node_id
        self._clock = clock
        self._scheduler = scheduler
        self._broker_epoch = -1
        self._queue: deque[tuple[int, AuditEvent]] = deque()
        self._next_seq = 0
        self._wake = asyncio.Event()
        self._delivering: asyncio.Task[None] | None = None
        self.dropped = 0
        self.written = 0
        metrics.counter_from(_DROPPED, lambda: self.dropped)
        metrics.counter_from(_WRITTEN, lambda: self.written)

    def record(self, event: AuditEvent) -> None:
        """Number and queue an event; never blocks, never raises. Shortens its texts."""
        if not self._enabled:
            return
        clip_texts(event)
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
        """The number of the newest event; -1 before the first."""
        return self._next_seq - 1

    async def write(self, broker_epoch: int, delivery: AuditDelivery) -> None:
        """Write recorded events until cancelled. `broker_epoch` distinguishes this registration of the broker from its
        others."""
        self._broker_epoch = broker_epoch
        while True:
            await self._wake.wait()
            await asyncio.sleep(_LINGER_S)
            self._wake.clear()
            # Events recorded meanwhile linger too: under load each delivery would carry the few events of the last one.
            end = self._next_seq
            while self._queue and self._queue[0][0] < end:
                await self._write_batch(delivery)

    async def drain(self, delivery: AuditDelivery, timeout_s: float) -> None:
        """Write the queued events at stop, for at most `timeout_s`."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._queue:
                    await self._write_batch(delivery)
        except TimeoutError:
            log.warning("Audit trail closed with unwritten events (count=%d): these events are lost", len(self._queue))

    async def close(self) -> None:
        """Stop delivering; a delivery in progress is cancelled."""
        if self._delivering is not None:
            self._delivering.cancel()
            await asyncio.gather(self._delivering, return_exceptions=True)

    async def _write_batch(self, delivery: AuditDelivery) -> None:
        """Write one batch. If the caller is cancelled, the delivery continues and the next caller waits for it: a
        second delivery would write the same events twice."""
        if self._delivering is None or self._delivering.done():
            self._delivering = asyncio.ensure_future(self._deliver_batch(delivery))
        await asyncio.shield(self._delivering)

    def _encoded(self, batch: Sequence[tuple[int, AuditEvent]]) -> list[bytes]:
        """Yields."""
        node_id, epoch = self._node_id, self._broker_epoch
        return [
            encode_audit_event(event, broker_id=node_id, broker_epoch=epoch, seq=seq) for seq, event in yielding(batch)
        ]

    async def _deliver_batch(self, delivery: AuditDelivery) -> None:
        batch = [self._queue[index] for index in range(min(len(self._queue), MAX_AUDIT_BATCH_EVENTS))]
        encoded = await self._scheduler.result_of(partial(self._encoded, batch))
        unsent = {seq: value for (seq, _), value in zip(batch, encoded, strict=True)}
        failing_since: float | None = None
        while True:
            failure = await self._deliver(delivery, unsent)
            if failure is None:
                break
            now = self._clock.monotonic()
            failing_since = now if failing_since is None else failing_since
            # A cluster that starts does not have the audit topic yet.
            level = logging.INFO if now - failing_since < _WARN_AFTER_S else logging.WARNING
            log.log(level, "Audit events are queued (count=%d): %s", len(self._queue), failure)
            await asyncio.sleep(_RETRY_S)
        for _ in batch:
            self._queue.popleft()

    async def _deliver(self, delivery: AuditDelivery, unsent: dict[int, bytes]) -> BaseException | None:
        """One attempt. Removes the events that are written, and those that never can be; the failure of the others."""
        try:
            results = await delivery.deliver(str(self._node_id).encode(), list(unsent.values()))
        except Exception as error:
            return error
        failure = None
        for seq, result in zip(list(unsent), results, strict=True):
            if result is None:
                self.written += 1
            elif isinstance(result, KafkaError) and result.error is Error.MESSAGE_TOO_LARGE:
                self.dropped += 1
                log.error("Audit event dropped (seq=%d): the audit topic does not admit its size: %s", seq, result)
            else:
                failure = result
                continue
            del unsent[seq]
        return failure
