"""An audit topic of an older version gets a size limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigChange, ConfigResource
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.configuration.internal_topic_settings import audit_topic_configs
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.audit_topic_limits import set_missing_limits
from signalbox.testing.cluster import Cluster
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.waiting import until_true

CONFIGS = audit_topic_configs(7, 40_000_000)
RESOURCE = ConfigResource(ConfigResourceType.TOPIC, AUDIT_TOPIC)
NAMES = ("retention.bytes", "segment.bytes", "retention.ms")
Values = dict[str, str | None]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("audit")
    with Cluster(brokers=1, folder=folder) as running:
        yield running


@asynccontextmanager
async def old_topic(cluster: Cluster, **configs: str) -> AsyncIterator[AdminClient]:
    """The audit topic with these configs of its own (`_` for `.`), and no others of NAMES."""
    async with AdminClient.of(cluster.bootstrap_servers) as admin:
        await admin.client.topic(AUDIT_TOPIC)
        await until_true(lambda: has_set_limits(cluster))  # else it could set them after the next line
        changes = [ConfigChange(name, None, AlterConfigOp.DELETE) for name in NAMES]
        (result,) = (await admin.alter_configs({RESOURCE: changes})).values()
        result.raise_for_error()
        changes = [ConfigChange(name.replace("_", "."), value) for name, value in configs.items()]
        if changes:
            (result,) = (await admin.alter_configs({RESOURCE: changes})).values()
            result.raise_for_error()
        await until(admin, {name.replace("_", "."): value for name, value in configs.items()})
        yield admin


def has_set_limits(cluster: Cluster) -> bool:
    """Whether the broker's own delivery has looked at the topic's limits, which it does once."""
    task = cluster.nodes[1].components.audit_delivery._limits_task
    return task is not None and task.done()


async def until(admin: AdminClient, expected: Values) -> None:
    """Waits until the broker has these configs of the topic."""
    async with asyncio.timeout(30):
        while await own(admin) != expected:
            pass  # each look is a request


async def own(admin: AdminClient) -> Values:
    current = await admin.describe_configs(RESOURCE, NAMES)
    return {name: entry.value for name, entry in current.items() if entry.source == 1}


def test_a_broker_sets_the_limit_of_an_old_topic(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    components = cluster.nodes[1].components
    assert components.audit_delivery._topic_configs["retention.bytes"] == "268435456"

    async def exists() -> tuple[int, str]:
        return 0, ""

    async def scenario() -> None:
        async with old_topic(cluster, retention_ms="500000000") as admin:
            settings = components.audit_delivery._settings
            delivery = TopicDelivery(settings, exists, ImmediateScheduler(), audit_topic_configs(7, 1_200_000))
            await asyncio.to_thread(cluster.run, delivery.deliver(b"1", [b"{}"]))
            limits: Values = {"retention.bytes": "1200000", "segment.bytes": "1048576"}
            await until(admin, {**limits, "retention.ms": "500000000"})
            for _ in range(40):
                await asyncio.to_thread(cluster.run, delivery.deliver(b"1", [bytes(100_000)]))
            await asyncio.to_thread(cluster.run, delivery.close())

    async def run_retention() -> list[int]:
        logs = components.data.logs
        audit = [log for log in logs if log.topic_partition.topic == AUDIT_TOPIC]
        before = max(log.size_bytes for log in audit)
        for log in audit:
            log.run_retention(components.context.clock.now_ms())
        return [before, max(log.size_bytes for log in audit)]

    with caplog.at_level("INFO", "signalbox.server.audit_topic_limits"):
        asyncio.run(scenario())
    assert "retention.bytes=1200000" in caplog.text
    before, after = cluster.run(run_retention())
    assert before > 4_000_000
    assert after < 1_200_000 + 1_048_576


@pytest.mark.parametrize(
    ("before", "configs", "after"),
    [
        ({"retention_bytes": "-1"}, CONFIGS, {"retention.bytes": "-1"}),
        ({}, audit_topic_configs(7, -1), {}),
        ({}, {}, {}),
        ({"segment_bytes": "5000000"}, CONFIGS, {"segment.bytes": "5000000", "retention.bytes": "40000000"}),
    ],
    ids=["unlimited by choice", "no limit configured", "a dedicated controller", "segments of its own"],
)
def test_configs_of_the_topic_are_kept(
    cluster: Cluster, before: dict[str, str], configs: dict[str, str], after: Values
) -> None:
    async def scenario() -> None:
        async with old_topic(cluster, **before) as admin:
            await set_missing_limits(admin, configs)
            await until(admin, after)

    asyncio.run(scenario())


def test_a_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with AdminClient.of("127.0.0.1:1") as admin:
            await set_missing_limits(admin, CONFIGS, timeout_ms=100)

    asyncio.run(scenario())
    assert "Size limit of the audit topic cannot be set" in caplog.text
