"""Both sides of the gate as clients see them: brokers below it, above it, and a cluster with both (F17, F12)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from signalbox.broker.routing.exposed_nodes import ExposedController
from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.common.inter_broker_protocol import INTER_BROKER_PROTOCOL_KEY
from signalbox.controller.direct_writes.broker_below_gate import RealController
from signalbox.controller.direct_writes.metadata_change_log import decode_shared_changes
from signalbox.metadata import layout
from signalbox.metadata.entries.entity_config import Configs, decode_configs
from signalbox.metadata.image import MetadataImage
from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from signalbox.wiring.rolling_upgrade import (
    RollingUpgrade,
    build_rolling_upgrade,
    inter_broker_protocol,
)
from tests.configuration.settings import config_of
from tests.wiring.contexts import context_of

pytestmark = pytest.mark.spec("F17")


class MixedCluster(Cluster):
    """A cluster whose brokers have different values of inter.broker.protocol.version. It has no audit topic: the
    controller creates it some time after the start, and this commit would empty `named` between a broker's change and
    the look at it."""

    def __init__(self, folder: Path, versions: Mapping[int, str]) -> None:
        super().__init__(len(versions), folder, {"signalbox.audit.enable": "false"})
        self.versions = versions

    def _properties(self, node_id: int, folder: Path) -> dict[str, str]:
        return {**super()._properties(node_id, folder), INTER_BROKER_PROTOCOL_KEY: self.versions[node_id]}

    @property
    def controller(self) -> int:
        [found] = [node_id for node_id, node in self.nodes.items() if node.components.controller.is_active]
        return found

    def ask(self, node_id: int, message: Any) -> Any:
        """The response of exactly this broker."""

        async def asking() -> Any:
            async with AdminClient.of(self.nodes[node_id].describe()["listeners"]["CLIENT"]) as admin:
                await admin.describe_cluster()
                return await admin.client.request(node_id, message)

        return asyncio.run(asking())

    def create_topic(self, name: str) -> None:
        async def creating() -> None:
            async with AdminClient.of(self.bootstrap_servers) as admin:
                (await admin.create_topics([NewTopic(name=name, num_partitions=1)]))[name].raise_for_error()

        asyncio.run(creating())

    def entry(self, path: str) -> Entry | None:
        store = next(iter(self.nodes.values())).components.context.store
        return self.run(store.read(path))

    def configs(self, entity_path: str) -> Configs:
        entry = self.entry(f"{layout.CONFIG}/{entity_path}")
        return {} if entry is None else decode_configs(entity_path, entry.data)

    def named(self) -> list[str]:
        """The paths that brokers stored themselves after the controller's last commit."""
        return [path for _, path in decode_shared_changes(self.entry(layout.SHARED_CHANGES)).named]


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    with MixedCluster(tmp_path_factory.mktemp("below"), dict.fromkeys((1, 2, 3), "2.6")) as running:
        running.create_topic("t")
        yield running


def followers(cluster: MixedCluster) -> list[int]:
    return [node_id for node_id in cluster.nodes if node_id != cluster.controller]


def setting(topic: str, key: str, value: str) -> IncrementalAlterConfigsRequest:
    made = IncrementalAlterConfigsRequest
    config = made.AlterableConfig(name=key, config_operation=0, value=value)
    resource = made.AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
    return made(resources=[resource])


def quota(user: str, rate: float) -> AlterClientQuotasRequest:
    made = AlterClientQuotasRequest
    entity = [made.EntityData(entity_type="user", entity_name=user)]
    return made(entries=[made.EntryData(entity=entity, ops=[made.OpData(key="producer_byte_rate", value=rate)])])


@pytest.mark.spec("F12")
def test_below_the_gate_everybody_names_the_real_controller(below: MixedCluster) -> None:
    for node_id in below.nodes:
        for request in (MetadataRequest(topics=[]), DescribeClusterRequest()):
            assert below.ask(node_id, request).controller_id == below.controller


def test_below_the_gate_topics_are_the_controllers(below: MixedCluster) -> None:
    topic = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1)])
    moving = AlterPartitionReassignmentsRequest(
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                name="t",
                partitions=[AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=0, replicas=[1])],
            )
        ]
    )
    for node_id in followers(below):
        assert [row.error_code for row in below.ask(node_id, topic).topics] == [Error.NOT_CONTROLLER]
        for message in (moving, ElectLeadersRequest(timeout_ms=1_000)):
            assert below.ask(node_id, message).error_code == Error.NOT_CONTROLLER


def test_below_the_gate_every_broker_writes_configs_and_quotas_directly(below: MixedCluster) -> None:
    for node_id in followers(below):
        [answer] = below.ask(node_id, setting("t", "retention.ms", f"{node_id}000")).responses
        assert answer.error_code == Error.NONE
        assert below.configs("topics/t") == {"retention.ms": f"{node_id}000"}
        assert "/config/topics/t" in below.named()
        [answer] = below.ask(node_id, quota(f"user-{node_id}", 5.0)).entries
        assert answer.error_code == Error.NONE
        assert below.configs(f"users/user-{node_id}") == {"producer_byte_rate": "5"}


@pytest.mark.spec("F10")
def test_below_the_gate_any_broker_creates_missing_topics(below: MixedCluster) -> None:
    node_id = followers(below)[0]
    missing = [MetadataRequest.MetadataRequestTopic(name="asked-for")]
    [topic] = below.ask(node_id, MetadataRequest(topics=missing, allow_auto_topic_creation=True)).topics
    assert topic.error_code == Error.NONE
    assert all(partition.leader_id > 0 for partition in topic.partitions)
    assert "/brokers/topics/asked-for" in below.named()
    below.ask(node_id, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    assert below.nodes[node_id].components.cache.image.topics["__consumer_offsets"].partitions


@pytest.mark.spec("L8")
def test_below_2_7_registrations_are_of_version_4(below: MixedCluster) -> None:
    for node_id in below.nodes:
        entry = below.entry(layout.broker_id_path(node_id))
        assert entry is not None
        assert (entry.data or b"").startswith(b'{"version":4,')
        assert b"features" not in (entry.data or b"")


@pytest.mark.spec("F2", "F4", "F12")
@pytest.mark.parametrize("version", ["3.9", "3.3"])
def test_half_way_those_above_forward_to_the_controller_whichever_side_it_is_on(tmp_path: Path, version: str) -> None:
    """Broker 1 is below the gate and broker 2 above; broker 3, which becomes the controller, is below or above."""
    with MixedCluster(tmp_path, {1: "3.3", 2: "3.9", 3: version}) as cluster:
        while (leaving := cluster.controller) != 3:
            cluster.stop_broker(leaving)
            cluster.run(cluster.nodes[3].components.cache.wait_until(partial(_is_gone, leaving), 30))
            cluster.start_broker(leaving)
        cluster.create_topic("t")
        keys = {1: "retention.ms", 2: "segment.ms", 3: "max.message.bytes"}
        for step in range(5):
            for node_id, key in keys.items():
                [answer] = cluster.ask(node_id, setting("t", key, str(100_000 + step))).responses
                assert answer.error_code == Error.NONE
                written_directly = "/config/topics/t" in cluster.named()
                assert written_directly == (node_id == 1), "those above leave it to the controller"
        assert cluster.configs("topics/t") == dict.fromkeys(keys.values(), "100004")
        topic = CreateTopicsRequest(
            topics=[CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)],
            timeout_ms=10_000,
        )
        errors = [cluster.ask(node_id, topic).topics[0].error_code for node_id in cluster.nodes if node_id != 3]
        assert sorted(errors) == [Error.NONE, Error.NOT_CONTROLLER]
        shown = [{cluster.ask(each, MetadataRequest(topics=[])).controller_id for _ in range(20)} for each in (1, 2)]
        assert shown[0] == {3}
        assert len(shown[1]) > 1


def _is_gone(node_id: int, image: MetadataImage) -> bool:
    return node_id not in image.brokers


def test_from_the_gate_on_only_the_controller_decides() -> None:
    class InactiveController:
        is_active = False

        async def handle(self, api_key: int, request: Any, context: Any) -> Any:
            raise KafkaError(Error.NOT_CONTROLLER, "")

    controller = InactiveController()

    async def build(version: str) -> RollingUpgrade:
        config = config_of(**{INTER_BROKER_PROTOCOL_KEY.replace(".", "__"): version})
        assert inter_broker_protocol(config).release == version
        async with context_of(config) as context:
            return build_rolling_upgrade(context, controller)

    above, under = asyncio.run(build("3.4")), asyncio.run(build("3.3"))
    assert (above.forwards, above.changes, above.creation) == (True, controller, controller)
    assert (under.forwards, under.changes is controller, under.creation.is_active) == (False, False, True)
    assert [type(each.exposed) for each in (above, under)] == [ExposedController, RealController]
