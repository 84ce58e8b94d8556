"""The audit trail as a topic: created when it is missing; each broker's sequence numbers are complete, and each occurs
once after a stop."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.client.consumer import Consumer
from signalbox.common.audit_event import AUDIT_TOPIC, AuditEvent, AuditKind
from signalbox.common.ids import TopicPartition
from signalbox.server.audit_delivery import AuditTopicMissing, TopicDelivery
from signalbox.testing.cluster import Cluster


async def read_audit_topic(bootstrap: str, expected: int) -> list[dict[str, object]]:
    """So many records of the audit topic, from its first offset on."""
    client = ClusterClient(ClientSettings(bootstrap=parse_bootstrap_servers(bootstrap), client_id="reader"))
    client.start()
    topic = await client.topic(AUDIT_TOPIC)
    consumer = Consumer(client)
    found: list[dict[str, object]] = []
    try:
        await consumer.assign({TopicPartition(AUDIT_TOPIC, index): 0 for index in topic.partitions})
        async with asyncio.timeout(10):
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
        delivery = TopicDelivery(lambda: pytest.fail("never dialled"), rejected)
        with pytest.raises(AuditTopicMissing, match="the policy says no"):
            await delivery.deliver(b"1", [b"{}"])
        await delivery.close()

    asyncio.run(scenario())


def test_the_audit_trail_of_a_stopped_broker_has_each_number_once(tmp_path: Path) -> None:
    with Cluster(brokers=1, folder=tmp_path) as cluster:
        node = cluster.nodes[1]
        epoch = node.components.epochs.broker_epoch

        async def record_and_stop() -> int:
            for number in range(1_500):
                node.components.telemetry.audit.record(AuditEvent(kind=AuditKind.ADMIN, resource=str(number)))
            # The writer may be sending a batch when the node stops: it must not send it again.
            await asyncio.sleep(0)
            housekeeping = node._housekeeping
            assert housekeeping is not None
            await housekeeping.stop(10.0)
            return node.components.telemetry.audit.written

        written = cluster.run(record_and_stop())
        assert written >= 1_500
        telemetry = asyncio.run(read_audit_topic(cluster.bootstrap_servers, written))
        mine = [event["seq"] for event in telemetry if event["broker_epoch"] == epoch]
        assert sorted(mine) == list(range(len(mine)))  # type: ignore[type-var]
        assert len(mine) == written
