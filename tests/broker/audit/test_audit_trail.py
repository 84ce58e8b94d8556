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
from signalbox.protocol.error_table import Error, KafkaError
from tests.common.scheduling.schedulers import ImmediateScheduler


class Topic:
    """A delivery that accepts all events after it has waited for `gate`; the first `failures` calls fail.
    `rejections`: by seq, the result of the first attempt."""

    def __init__(self, failures: int = 0, rejections: dict[int, BaseException] | None = None) -> None:
        self.rejections = rejections or {}
        self.keys: list[bytes] = []
        self.seqs: list[int] = []
        self.batches: list[int] = []
        self.failures = failures
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()

    async def deliver(self, key: bytes, values: Sequence[bytes]) -> Sequence[BaseException | None]:
        self.arrived.set()
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the topic is away")
        self.keys.append(key)
        self.batches.append(len(values))
        seqs = [json.loads(value)["seq"] for value in values]
        results = [self.rejections.pop(seq, None) for seq in seqs]
        self.seqs += [seq for seq, result in zip(seqs, results, strict=True) if result is None]
        return results


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


def test_an_event_that_the_topic_never_admits_is_a_gap_and_the_others_are_written_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audit_trail, "_RETRY_S", 0.0)
    rejections: dict[int, BaseException] = {
        1: KafkaError(Error.MESSAGE_TOO_LARGE, "900 bytes, max.message.bytes is lower"),
        2: KafkaError(Error.TOPIC_AUTHORIZATION_FAILED),  # may be admitted later
    }

    async def scenario() -> None:
        audit, topic = new_audit_trail(), Topic(rejections=rejections)
        for _ in range(4):
            audit.record(event())
        await audit.drain(topic, 5)
        assert topic.seqs == [0, 3, 2]
        assert topic.batches == [4, 1], "only what was not written is retried"
        assert (audit.written, audit.dropped) == (3, 1)

    asyncio.run(scenario())
    assert "Audit event dropped (seq=1)" in caplog.text


@pytest.mark.parametrize("field", ["client_id", "client_software", "principal", "resource", "reason", "expected"])
def test_a_text_that_a_client_chose_is_cut(field: str) -> None:
    """The smallest admitted max.message.bytes aside, no event is larger than a topic admits, whatever it contains."""
    values: list[bytes] = []

    class Kept(Topic):
        async def deliver(self, key: bytes, given: Sequence[bytes]) -> Sequence[BaseException | None]:
            values.extend(given)
            return [None] * len(given)

    async def scenario() -> None:
        audit = new_audit_trail()
        for text in ("\x01" * 700_000, "alice"):
            given = event()
            setattr(given, field, text)
            audit.record(given)
        await audit.drain(Kept(), 5)

    asyncio.run(scenario())
    cut, short = (json.loads(value)[field] for value in values)
    assert cut.strip("\x01") == "..."
    assert short == "alice"
    assert len(values[0]) < 40_000


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
