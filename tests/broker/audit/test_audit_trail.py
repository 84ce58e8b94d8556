"""Audit trail: an event gets its number at once and is written later, in order, once; a dropped event leaves a gap."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from signalbox.broker.audit import audit_trail
from signalbox.broker.audit.audit_trail import AuditTrail
from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.common.limits import MAX_AUDIT_BATCH_EVENTS, MAX_AUDIT_EVENTS_QUEUED
from signalbox.common.metrics import NullMetrics
from tests.common.scheduling.schedulers import ImmediateScheduler


class Topic:
    """A delivery that accepts all events after it has waited for `gate`; the first `failures` calls fail."""

    def __init__(self, failures: int = 0) -> None:
        self.keys: list[bytes] = []
        self.seqs: list[int] = []
        self.batches: list[int] = []
        self.failures = failures
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()

    async def deliver(self, key: bytes, values: Sequence[bytes]) -> None:
        self.arrived.set()
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the topic is away")
        self.keys.append(key)
        self.batches.append(len(values))
        self.seqs += [json.loads(value)["seq"] for value in values]


def event() -> AuditEvent:
    return AuditEvent(kind=AuditKind.ADMIN)


def new_audit_trail(enabled: bool = True) -> AuditTrail:
    return AuditTrail(1, ManualClock(), NullMetrics(), ImmediateScheduler(), enabled)


def test_events_are_numbered_stamped_and_drained_in_order() -> None:
    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic()
        assert audit.last_seq == -1
        for _ in range(MAX_AUDIT_BATCH_EVENTS + 1):
            audit.record(event())
        assert audit.last_seq == MAX_AUDIT_BATCH_EVENTS
        await audit.drain(topic, 5)
        assert topic.seqs == list(range(MAX_AUDIT_BATCH_EVENTS + 1))
        assert topic.batches == [MAX_AUDIT_BATCH_EVENTS, 1]
        assert set(topic.keys) == {b"1"}
        assert audit.written == MAX_AUDIT_BATCH_EVENTS + 1

    asyncio.run(scenario())


def test_a_full_queue_leaves_a_gap_in_seq() -> None:
    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic()
        for _ in range(MAX_AUDIT_EVENTS_QUEUED + 3):
            audit.record(event())
        assert audit.dropped == 3
        await audit.drain(topic, 10)
        audit.record(event())
        await audit.drain(topic, 10)
        assert topic.seqs == [*range(MAX_AUDIT_EVENTS_QUEUED), MAX_AUDIT_EVENTS_QUEUED + 3]

    asyncio.run(scenario())


def test_a_writer_that_is_stopped_within_a_delivery_writes_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_trail, "_LINGER_S", 0.0)

    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic()
        topic.gate.clear()
        writing = asyncio.ensure_future(audit.write(7, topic))
        audit.record(event())
        await topic.arrived.wait()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        audit.record(event())
        topic.gate.set()
        await audit.drain(topic, 5)
        assert topic.seqs == [0, 1]

    asyncio.run(scenario())


def test_events_recorded_during_a_delivery_linger_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each delivery under load would carry the few events that came during the last one."""
    monkeypatch.setattr(audit_trail, "_LINGER_S", 0.0)

    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic()
        topic.gate.clear()
        writing = asyncio.ensure_future(audit.write(7, topic))
        audit.record(event())
        await topic.arrived.wait()
        monkeypatch.setattr(audit_trail, "_LINGER_S", 3600.0)
        audit.record(event())
        topic.gate.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert (audit.written, topic.seqs) == (1, [0])
        writing.cancel()
        await audit.drain(topic, 30)
        assert topic.seqs == [0, 1]

    asyncio.run(scenario())


def test_what_is_not_delivered_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_trail, "_RETRY_S", 0.0)

    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic(failures=2)
        audit.record(event())
        await audit.drain(topic, 5)
        assert topic.seqs == [0]

    asyncio.run(scenario())


def test_a_drain_gives_up_at_its_deadline_and_close_ends_the_delivery() -> None:
    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic()
        topic.gate.clear()
        audit.record(event())
        await audit.drain(topic, 0.01)
        await audit.close()
        assert topic.seqs == []
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())


def test_a_disabled_audit_trail_records_nothing() -> None:
    async def scenario() -> None:
        audit, topic = new_audit_trail(enabled=False), Topic()
        audit.record(event())
        await audit.drain(topic, 1)
        assert (audit.last_seq, audit.dropped, topic.seqs) == (-1, 0, [])

    asyncio.run(scenario())
