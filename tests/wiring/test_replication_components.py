"""The replication components: open logs, and configs that reach the replicas."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.api_request import as_future
from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigChange, ConfigResource
from signalbox.common.clock import SystemClock
from signalbox.common.metrics import NullMetrics
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.coordinator.config_rows import COORDINATOR_CONFIG
from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.protocol.messages.join_group import JoinGroupRequest
from signalbox.replication.throttle import Throttles
from signalbox.storage.directories.log_move import MoveThrottle
from signalbox.testing.cluster import Cluster
from signalbox.wiring.replication_components import ChannelAlterPartition, _config_changed, open_group_coordinator
from tests.configuration.settings import config_of
from tests.coordinator.bench import transcript
from tests.coordinator.memory_log import MemoryLog
from tests.waiting import until_true


class Replicas:
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fetchers = self
        self.throttles = Throttles.of(1, SystemClock().monotonic, MoveThrottle(SystemClock().monotonic))

    def resize(self, num_fetchers: int) -> None:
        self.calls.append(f"{num_fetchers} fetchers")

    def update_topic_config(self, topic: str) -> None:
        self.calls.append(topic)

    def update_topic_defaults(self) -> None:
        self.calls.append("all topics")


def test_topics_configs_and_this_brokers_reach_replication(repository: ConfigRepository) -> None:
    replicas, dynamic = Replicas(), DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of().values)
    for path in ("topics/t", "brokers/2", "users/u", "brokers/1", "topics/with/slash", "brokers/<default>"):
        _config_changed(replicas, dynamic, path, {})  # type: ignore[arg-type]
    assert replicas.calls == ["t", "all topics", "1 fetchers", "with/slash", "all topics", "1 fetchers"]


@pytest.mark.spec("D3")
def test_throttles_of_topics_and_brokers(repository: ConfigRepository) -> None:
    replicas, dynamic = Replicas(), DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of().values)
    _config_changed(replicas, dynamic, "topics/t", {"leader.replication.throttled.replicas": "0:1,1:2"})  # type: ignore[arg-type]
    leader = replicas.throttles.leader
    assert [leader.covers("t", partition) for partition in (0, 1)] == [True, False]
    leader.record("t", 0, 1_000_000)
    assert not leader.is_throttled("t", 0), "no rate is set"
    low = DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of(leader__replication__throttled__rate="10").values)
    _config_changed(replicas, low, "brokers/1", {})  # type: ignore[arg-type]
    leader.record("t", 0, 1_000_000)
    assert leader.is_throttled("t", 0)
    _config_changed(replicas, low, "topics/t", {})  # type: ignore[arg-type]
    assert not leader.is_throttled("t", 0)


def test_a_running_side(cluster: Cluster) -> None:
    data = cluster.nodes[1].components.data
    assert [directory.online for directory in data.logs.directories] == [True]


def test_running_replicas_follow_the_defaults_of_all_brokers(cluster: Cluster) -> None:
    nodes = cluster.nodes.values()
    keys = ("log.retention.ms", "min.insync.replicas")

    def found() -> list[tuple[int, int]]:
        """(retention.ms, min.insync.replicas) of each broker's replica of the topic."""
        pairs = []
        for node in nodes:
            partition = node.components.data.replicas.hosted.get("follows", 0)
            if partition is not None and partition.log is not None:
                pairs.append((partition.log.config.retention_ms, partition.settings.min_insync_replicas))
        return pairs

    async def change(admin: AdminClient, *changes: ConfigChange) -> None:
        results = await admin.alter_configs({ConfigResource(ConfigResourceType.BROKER, ""): changes})
        assert [result.message for result in results.values()] == [None]

    async def scenario() -> None:
        async with AdminClient.of(cluster.bootstrap_servers) as admin:
            await admin.create_topic("follows", num_partitions=1, replication_factor=3)
            await until_true(lambda: len(found()) == 3)
            await change(admin, *(ConfigChange(key, value) for key, value in zip(keys, ("1000", "2"), strict=True)))
            await until_true(lambda: found() == [(1000, 2)] * 3)  # replicas take new defaults one after the other
            await change(admin, *(ConfigChange(key, None, AlterConfigOp.DELETE) for key in keys))
            await until_true(lambda: found() == [(604_800_000, 1)] * 3)

    cluster.run(scenario())


class Channel:
    """The part of the controller channel that is used here."""

    def __init__(self) -> None:
        self.submitted: list[asyncio.Future[Any]] = []

    def submit(self, message: Any, timeout_ms: float) -> asyncio.Future[Any]:
        self.submitted.append(asyncio.get_running_loop().create_future())
        return self.submitted[-1]


@pytest.mark.parametrize("ending", ["answer", "rejected", "broken", "cancelled"])
def test_each_result_is_reported_once(ending: str) -> None:
    async def scenario() -> None:
        channel, results = Channel(), list[Any]()
        sender = ChannelAlterPartition(channel, 1000)  # type: ignore[arg-type]
        sender.send(AlterPartitionRequest(), results.append)
        [future] = channel.submitted
        answer = AlterPartitionResponse()
        expected: Any = answer
        if ending == "answer":
            future.set_result(answer)
        elif ending == "rejected":
            future.set_exception(KafkaError(Error.REQUEST_TIMED_OUT))
            expected = Error.REQUEST_TIMED_OUT
        elif ending == "broken":
            future.set_exception(ValueError("a bug"))
            expected = Error.UNKNOWN_SERVER_ERROR
        else:
            future.cancel()
            expected = Error.NETWORK_EXCEPTION
        for _ in range(3):
            await asyncio.sleep(0)
        assert results == [expected]

    asyncio.run(scenario())


@transcript
async def test_a_coordinator_by_the_real_clock_serves_a_member() -> None:
    values, _ = COORDINATOR_CONFIG.read({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"})
    log = MemoryLog()
    coordinator = open_group_coordinator(
        log,
        Deadlines(SystemClock(), asyncio.get_running_loop()),
        TaskScheduler(asyncio.get_running_loop()),
        values,
        NullMetrics(),
        MetadataCache(),
    )
    partition = coordinator.partition_for("g")
    log.lead(partition, 1)
    coordinator.on_elected(partition, 1)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    client = ClientContext("c", "/127.0.0.1", 3)
    while True:
        response = await as_future(coordinator.join_group(request, client))
        if response.error_code != Error.COORDINATOR_LOAD_IN_PROGRESS:
            break
        await asyncio.sleep(0)
    assert (response.error_code, response.generation_id) == (Error.NONE, 1)
    assert response.member_id.startswith("c-")
    await as_future(coordinator.stop())
