"""Elections and reassignments against scripted brokers: the requests, and how responses become results."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.partition_admin import Reassignment
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from signalbox.protocol.messages.elect_leaders import ElectLeadersResponse
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def elected(*codes: int) -> ElectLeadersResponse:
    results = [ElectLeadersResponse.PartitionResult(partition_id=n, error_code=code) for n, code in enumerate(codes)]
    made = ElectLeadersResponse.ReplicaElectionResult
    return ElectLeadersResponse(replica_election_results=[made(topic="t", partition_result=results)])


def test_leaders_are_elected() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        broker = cluster.brokers[1]
        broker.scripts[ApiKey.ELECT_LEADERS] = lambda request, version: elected(0, Error.ELECTION_NOT_NEEDED)
        results = await admin.elect_leaders([A, B])
        assert {name: each.error for name, each in results.items()} == {"t-0": 0, "t-1": Error.ELECTION_NOT_NEEDED}
        assert (await admin.elect_leaders(unclean=True)).keys() == {"t-0", "t-1"}
        first, everything = broker.seen(ApiKey.ELECT_LEADERS)
        assert [(each.topic, each.partitions) for each in first.topic_partitions] == [("t", [0, 1])]
        assert (first.election_type, everything.election_type, everything.topic_partitions) == (0, 1, None)
        assert 0 < first.timeout_ms < 60_000

    with_admin(test)


def test_moves_begin_and_are_taken_back() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = AlterPartitionReassignmentsResponse

        def answer(request: Any, version: int) -> Any:
            rows = [
                made.ReassignablePartitionResponse(
                    partition_index=each.partition_index, error_code=0 if each.replicas else 85, error_message="why"
                )
                for each in request.topics[0].partitions
            ]
            return made(responses=[made.ReassignableTopicResponse(name="t", partitions=rows)])

        broker = cluster.brokers[1]
        broker.scripts[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = answer
        results = await admin.reassign_partitions({A: [2, 1], B: None}, allow_replication_factor_change=False)
        assert [each.error for each in results.values()] == [Error.NONE, Error.NO_REASSIGNMENT_IN_PROGRESS]
        (request,) = broker.seen(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
        assert [each.replicas for each in request.topics[0].partitions] == [[2, 1], None]
        assert not request.allow_replication_factor_change

    with_admin(test)


def test_a_request_that_is_rejected_as_a_whole_raises() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        rejected = AlterPartitionReassignmentsResponse(error_code=Error.POLICY_VIOLATION, error_message="too much")
        cluster.brokers[1].scripts[ApiKey.ALTER_PARTITION_REASSIGNMENTS] = lambda request, version: rejected
        with pytest.raises(KafkaError, match="too much"):
            await admin.reassign_partitions({A: [1]})

    with_admin(test)


def test_reassignments_in_progress_are_listed() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = ListPartitionReassignmentsResponse
        move = made.OngoingPartitionReassignment(
            partition_index=1, replicas=[3, 1, 2], adding_replicas=[3], removing_replicas=[2]
        )
        broker = cluster.brokers[1]
        broker.scripts[ApiKey.LIST_PARTITION_REASSIGNMENTS] = lambda request, version: made(
            topics=[made.OngoingTopicReassignment(name="t", partitions=[move])]
        )
        assert await admin.list_reassignments() == {B: Reassignment(replicas=(3, 1, 2), adding=(3,), removing=(2,))}
        await admin.list_reassignments([A, B])
        everything, named = broker.seen(ApiKey.LIST_PARTITION_REASSIGNMENTS)
        assert everything.topics is None
        assert [(each.name, each.partition_indexes) for each in named.topics] == [("t", [0, 1])]

    with_admin(test)
