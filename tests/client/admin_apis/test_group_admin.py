from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.group_admin import TRANSACTION, CommittedOffset, find_coordinator
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_groups import DeleteGroupsResponse
from signalbox.protocol.messages.describe_groups import DescribeGroupsResponse
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.protocol.messages.list_groups import ListGroupsResponse
from signalbox.protocol.messages.offset_commit import OffsetCommitResponse
from signalbox.protocol.messages.offset_fetch import OffsetFetchResponse
from tests.client.loopback_cluster import LoopbackCluster, Script
from tests.client.test_admin import with_admin


def coordinated_by(cluster: LoopbackCluster, node_id: int, first_errors: int = 0) -> None:
    """Every broker returns `node_id` as the coordinator of every group, after `first_errors` errors."""
    left = [first_errors]

    def find(request: Any, version: int) -> Any:
        error = Error.NONE
        if left[0]:
            left[0] -= 1
            error = Error.COORDINATOR_NOT_AVAILABLE
        if version < 4:
            return FindCoordinatorResponse(error_code=error, node_id=node_id)
        made = FindCoordinatorResponse.Coordinator
        rows = [made(key=key, node_id=node_id, error_code=error) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=rows)

    for broker in cluster.brokers.values():
        broker.scripts[ApiKey.FIND_COORDINATOR] = find


def test_groups_are_gathered_from_every_broker() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        def listing(row: Any) -> Script:
            return lambda request, version: ListGroupsResponse(groups=[row])

        for node_id, broker in cluster.brokers.items():
            row = ListGroupsResponse.ListedGroup(
                group_id=f"g{9 - node_id}", protocol_type="consumer", group_state="Stable", group_type="classic"
            )
            broker.scripts[ApiKey.LIST_GROUPS] = listing(row)
        groups = await admin.list_groups()
        assert [(row.group_id, row.state, row.type) for row in groups] == [
            ("g6", "Stable", "classic"),
            ("g7", "Stable", "classic"),
            ("g8", "Stable", "classic"),
        ]

    with_admin(test, size=3)


@pytest.mark.parametrize("version", [0, 3, 6])
def test_a_group_is_described_by_its_coordinator(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        for broker in cluster.brokers.values():
            broker.max_versions[ApiKey.FIND_COORDINATOR] = version
        coordinated_by(cluster, 2, first_errors=1)
        made = DescribeGroupsResponse
        member = made.DescribedGroupMember(member_id="m", client_id="c", client_host="/h", member_metadata=b"x")
        group = made.DescribedGroup(group_id="g", group_state="Stable", protocol_type="consumer", members=[member])
        cluster.brokers[2].scripts[ApiKey.DESCRIBE_GROUPS] = lambda request, version: made(groups=[group])
        described = await admin.describe_group("g")
        assert (described.state, described.coordinator_id) == ("Stable", 2)
        assert [(row.member_id, row.metadata) for row in described.members] == [("m", b"x")]

    with_admin(test, size=2)


def test_the_message_of_a_missing_group_names_it() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        coordinated_by(cluster, 1)
        made = DescribeGroupsResponse
        missing = made.DescribedGroup(
            group_id="g", error_code=Error.GROUP_ID_NOT_FOUND, error_message="Group g not found."
        )
        cluster.brokers[1].scripts[ApiKey.DESCRIBE_GROUPS] = lambda request, version: made(groups=[missing])
        with pytest.raises(KafkaError, match="Group g not found"):
            await admin.describe_group("g")

    with_admin(test, size=2)


def test_a_coordinator_that_moved_is_found_again() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        coordinated_by(cluster, 1)
        made = DescribeGroupsResponse

        def moved(request: Any, version: int) -> Any:
            coordinated_by(cluster, 2)
            return made(groups=[made.DescribedGroup(group_id="g", error_code=Error.NOT_COORDINATOR)])

        cluster.brokers[1].scripts[ApiKey.DESCRIBE_GROUPS] = moved
        group = made.DescribedGroup(group_id="g", group_state="Empty")
        cluster.brokers[2].scripts[ApiKey.DESCRIBE_GROUPS] = lambda request, version: made(groups=[group])
        assert (await admin.describe_group("g")).coordinator_id == 2

    with_admin(test, size=2)


def test_groups_are_deleted_one_by_one() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        coordinated_by(cluster, 1)
        made = DeleteGroupsResponse

        def answer(request: Any, version: int) -> Any:
            (name,) = request.groups_names
            error = Error.NON_EMPTY_GROUP if name == "busy" else Error.NONE
            return made(results=[made.DeletableGroupResult(group_id=name, error_code=error)])

        cluster.brokers[1].scripts[ApiKey.DELETE_GROUPS] = answer
        results = await admin.delete_groups(["idle", "busy"])
        assert {name: row.error for name, row in results.items()} == {
            "idle": Error.NONE,
            "busy": Error.NON_EMPTY_GROUP,
        }

    with_admin(test)


def asked_topics(request: Any) -> Any:
    return request.groups[0].topics if request.groups else request.topics


@pytest.mark.parametrize("version", [7, 9, 10])
def test_committed_offsets_at_old_and_new_brokers(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        coordinated_by(cluster, 1)
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.OFFSET_FETCH] = version
        made = OffsetFetchResponse

        def answer(request: Any, version: int) -> Any:
            if version < 8:
                rows = [
                    made.OffsetFetchResponsePartition(partition_index=i, committed_offset=o, metadata="")
                    for i, o in ((0, 5), (1, -1))
                ]
                return made(topics=[made.OffsetFetchResponseTopic(name="t", partitions=rows)])
            newer = [
                made.OffsetFetchResponsePartitions(partition_index=i, committed_offset=o, metadata="")
                for i, o in ((0, 5), (1, -1))
            ]
            topic = made.OffsetFetchResponseTopics(name="t", partitions=newer)
            return made(groups=[made.OffsetFetchResponseGroup(group_id="g", topics=[topic])])

        broker.scripts[ApiKey.OFFSET_FETCH] = answer
        found = await admin.committed_offsets("g")
        assert found == {TopicPartition("t", 0): CommittedOffset(5, -1, "")}
        assert asked_topics(broker.seen(ApiKey.OFFSET_FETCH)[-1]) is None
        assert await admin.committed_offsets("g", partitions=[*found, TopicPartition("t", 1)]) == found
        (topic,) = asked_topics(broker.seen(ApiKey.OFFSET_FETCH)[-1])
        assert (topic.name, topic.partition_indexes) == ("t", [0, 1])

    with_admin(test)


def test_offsets_are_committed_for_a_group() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        coordinated_by(cluster, 1)
        made = OffsetCommitResponse
        codes = [Error.NONE, Error.UNKNOWN_MEMBER_ID]

        def answer(request: Any, version: int) -> Any:
            row = made.OffsetCommitResponsePartition(partition_index=0, error_code=codes.pop(0))
            return made(topics=[made.OffsetCommitResponseTopic(name="t", partitions=[row])])

        broker = cluster.brokers[1]
        broker.scripts[ApiKey.OFFSET_COMMIT] = answer
        await admin.alter_committed_offsets("g", {TopicPartition("t", 0): 7})
        (request,) = broker.seen(ApiKey.OFFSET_COMMIT)
        assert request.topics[0].partitions[0].committed_offset == 7
        with pytest.raises(KafkaError) as rejection:
            await admin.alter_committed_offsets("g", {TopicPartition("t", 0): 8})
        assert rejection.value.error == Error.UNKNOWN_MEMBER_ID

    with_admin(test)


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_one_key_is_looked_up_at_every_version(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.FIND_COORDINATOR] = version

        def answer(request: Any, version: int) -> Any:
            if version < 4:
                return FindCoordinatorResponse(node_id=7)
            row = FindCoordinatorResponse.Coordinator(key=request.coordinator_keys[0], node_id=7)
            return FindCoordinatorResponse(coordinators=[row])

        broker.scripts[ApiKey.FIND_COORDINATOR] = answer
        assert await find_coordinator(admin.client, "k", TRANSACTION) == 7
        (request,) = broker.seen(ApiKey.FIND_COORDINATOR)
        assert (request.key or request.coordinator_keys[0], request.key_type) == ("k", TRANSACTION)

    with_admin(test)


@pytest.mark.parametrize("version", [3, 4])
def test_a_rejection_keeps_the_brokers_words(version: int) -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.max_versions[ApiKey.FIND_COORDINATOR] = version
        made = FindCoordinatorResponse

        def answer(request: Any, version: int) -> Any:
            error: dict[str, Any] = {
                "error_code": Error.POLICY_VIOLATION,
                "error_message": "the policy says no",
                "node_id": -1,
            }
            return made(**error) if version < 4 else made(coordinators=[made.Coordinator(key="k", **error)])

        broker.scripts[ApiKey.FIND_COORDINATOR] = answer
        with pytest.raises(KafkaError, match="the policy says no") as rejection:
            await find_coordinator(admin.client, "k")
        assert rejection.value.error == Error.POLICY_VIOLATION

    with_admin(test)
