"""The audit trail as a topic: created when it is missing; each broker's sequence numbers are complete, and each occurs
once after a stop."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.client.consumer import Consumer
from signalbox.common.audit_event import AUDIT_TOPIC, AuditEvent, AuditKind
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.server.audit_delivery import AuditTopicMissing, AuditWriter, TopicDelivery
from signalbox.testing.cluster import Cluster
from signalbox.wiring import node_components
from tests.common.scheduling.schedulers import ImmediateScheduler


async def read_audit_topic(bootstrap: str, expected: int) -> list[dict[str, object]]:
    """So many records of the audit topic, from its first offset on."""
    client = ClusterClient(ClientSettings(bootstrap=parse_bootstrap_servers(bootstrap), client_id="reader"))
    client.start()
    topic = await client.topic(AUDIT_TOPIC)
    consumer = Consumer(client)
    found: list[dict[str, object]] = []
    try:
        await consumer.assign({TopicPartition(AUDIT_TOPIC, index): 0 for index in topic.partitions})
        async with asyncio.timeout(60):
            while len(found) < expected:
                found += [json.loads(record.value or b"") for record in await consumer.poll(200)]
    finally:
        await consumer.close()
        await client.close()
    return found


def test_without_a_topic_no_event_is_lost_and_the_reason_is_logged() -> None:
    async def rejected() -> tuple[int, str]:
        return 44, "the policy says no"

    async def scenario() -> None:
        delivery = TopicDelivery(lambda: pytest.fail("never dialled"), rejected, ImmediateScheduler())
        with pytest.raises(AuditTopicMissing, match="the policy says no"):
            await delivery.deliver(b"1", [b"{}"])
        await delivery.close()

    asyncio.run(scenario())


def test_the_audit_trail_of_a_stopped_broker_has_each_number_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_components, "_AUDIT_DRAIN_S", 60.0)  # a busy machine may need longer than a stop may take
    with Cluster(brokers=1, folder=tmp_path) as cluster:
        node = cluster.nodes[1]
        epoch = node.components.epochs.broker_epoch

        async def record_and_stop() -> int:
            for number in range(1_500):
                node.components.telemetry.audit.record(AuditEvent(kind=AuditKind.ADMIN, resource=str(number)))
            # The writer may be sending a batch when the node stops: it must not send it again.
            await asyncio.sleep(0)
            [housekeeping] = [each for each in node._running._running if each.name == "housekeeping"]
            assert housekeeping.controlled_stop is not None
            await housekeeping.controlled_stop()  # type: ignore[misc]
            return node.components.telemetry.audit.written

        written = cluster.run(record_and_stop())
        assert written >= 1_500
        telemetry = asyncio.run(read_audit_topic(cluster.bootstrap_servers, written))
        mine = [event["seq"] for event in telemetry if event["broker_epoch"] == epoch]
        assert sorted(mine) == list(range(len(mine)))  # type: ignore[type-var]
        assert len(mine) == written


def test_an_event_of_any_size_leaves_room_for_the_next(tmp_path: Path) -> None:
    """A request with long names must not end the audit trail: no topic would admit its event."""
    with Cluster(brokers=1, folder=tmp_path) as cluster:
        node = cluster.nodes[1]
        audit = node.components.telemetry.audit
        asyncio.run(read_audit_topic(cluster.bootstrap_servers, 1))

        async def record() -> None:
            for resource in ("\x01" * 600_000, "small"):
                audit.record(AuditEvent(kind=AuditKind.ADMIN, client_id="\x01" * 32_000, resource=resource))

        cluster.run(record())
        seqs: list[object] = []
        while audit.last_seq not in seqs:
            found = asyncio.run(read_audit_topic(cluster.bootstrap_servers, audit.written))
            seqs = [event["seq"] for event in found]
        assert seqs == list(range(len(seqs)))
        assert audit.dropped == 0


def test_the_result_of_each_event_is_its_own(tmp_path: Path) -> None:
    with Cluster(brokers=1, folder=tmp_path) as cluster:
        delivery = cluster.nodes[1].components.audit_delivery
        values = [b"{}", bytes(2_000_000), b"{}"]
        first, large, last = cluster.run(delivery.deliver(b"1", values))
        assert (first, last) == (None, None)
        assert isinstance(large, KafkaError)
        assert large.error is Error.MESSAGE_TOO_LARGE


class Recorder:
    """The calls of everything that an audit writer uses, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.telemetry: Any = SimpleNamespace(
            rollups=SimpleNamespace(flush=lambda: self.calls.append("roll-ups")), audit=self
        )
        self.delivery: Any = SimpleNamespace(close=self.close_delivery)

    async def write(self, broker_epoch: int, delivery: object) -> None:
        self.calls.append(f"write {broker_epoch}")

    async def drain(self, delivery: object, timeout_s: float) -> None:
        self.calls.append(f"drain {timeout_s}")

    async def close(self) -> None:
        self.calls.append("close audit")

    async def close_delivery(self) -> None:
        self.calls.append("close delivery")

    def writer(self, enabled: bool) -> AuditWriter:
        return AuditWriter(self.telemetry, self.delivery, enabled, lambda: self.calls.append("connections"))


@pytest.mark.parametrize(("enabled", "calls"), [(True, ["roll-ups", "connections", "drain 2.0"]), (False, [])])
def test_roll_ups_and_connections_are_recorded_before_the_audit_is_drained(enabled: bool, calls: list[str]) -> None:
    recorder = Recorder()
    asyncio.run(recorder.writer(enabled).drain(2.0))
    assert recorder.calls == calls


def test_events_are_written_with_the_broker_epoch_and_the_delivery_ends_last() -> None:
    recorder = Recorder()
    writer = recorder.writer(enabled=True)

    async def scenario() -> None:
        await writer.write(9)
        writer.flush_rollups()
        await writer.close()

    asyncio.run(scenario())
    assert recorder.calls == ["write 9", "roll-ups", "close audit", "close delivery"]
