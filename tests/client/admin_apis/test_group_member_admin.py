from __future__ import annotations

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.group_member_admin import assigned_partitions
from signalbox.client.failures import VersionUnsupported
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster
from tests.client.group_consumer.members import Group, with_group
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin
from tests.waiting import until_true


@pytest.mark.spec("R10")
def test_members_are_removed_by_instance_id_or_all(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("crowd", 3)
        admin = AdminClient(group.client)
        members = [await group.member(group_instance_id=name) for name in ("a", "b", None)]
        for member in members:
            member.start("crowd")
        await until_true(lambda: all(member.has for member in members))
        described = await admin.describe_group("crowd")
        owned = [assigned_partitions(member) for member in described.members]
        assert sorted(row.partition for one in owned for row in one) == [0, 1, 2]
        for member in members:
            await member.pause_polling()
        removed = await admin.remove_members("crowd", ["a", "absent"], reason="maintenance")
        assert {name: result.error for name, result in removed.items()} == {
            "a": Error.NONE,
            "absent": Error.UNKNOWN_MEMBER_ID,
        }
        left = await admin.remove_members("crowd")
        assert len(left) == 2
        assert {result.error for result in left.values()} == {Error.NONE}
        assert (await admin.describe_group("crowd")).members == []
        assert await admin.remove_members("crowd") == {}

    with_group(cluster.bootstrap_servers, "crowd", test)


@pytest.mark.spec("R10")
def test_committed_offsets_are_deleted_unless_a_member_is_subscribed(cluster: Cluster) -> None:
    async def test(group: Group) -> None:
        await group.create("kept", 1)
        await group.create("dropped", 2)
        admin = AdminClient(group.client)
        kept, dropped = TopicPartition("kept", 0), TopicPartition("dropped", 1)
        await admin.alter_committed_offsets("offsets", {kept: 1, dropped: 2, TopicPartition("dropped", 0): 3})
        member = await group.member()
        member.start("kept")
        await until_true(lambda: member.has == "0")
        results = await admin.delete_committed_offsets("offsets", [kept, dropped])
        assert (results[kept].error, results[dropped].error) == (Error.GROUP_SUBSCRIBED_TO_TOPIC, Error.NONE)
        assert set(await admin.committed_offsets("offsets")) == {kept, TopicPartition("dropped", 0)}

    with_group(cluster.bootstrap_servers, "offsets", test)


def test_an_unknown_group_is_an_error(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        with pytest.raises(KafkaError) as raised:
            await admin.delete_committed_offsets("no-such-group", [TopicPartition("t", 0)])
        assert raised.value.error == Error.GROUP_ID_NOT_FOUND

    over_cluster(cluster, test)


def test_an_old_broker_cannot_remove_members() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.LEAVE_GROUP] = 2
        coordinator = FindCoordinatorResponse.Coordinator(key="g", node_id=1, host="h", port=1)
        broker.scripts[ApiKey.FIND_COORDINATOR] = lambda request, version: FindCoordinatorResponse(
            coordinators=[coordinator]
        )
        with pytest.raises(VersionUnsupported, match="remove other members"):
            await admin.remove_members("g", ["a"])

    with_admin(test)
