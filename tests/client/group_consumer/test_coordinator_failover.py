"""A group consumer while brokers stop: the coordinator moves, and the members go on."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.group_admin import find_coordinator
from signalbox.testing.cluster import Cluster
from tests.client.group_consumer.members import Group, with_group
from tests.waiting import until_true


@pytest.mark.spec("R5", "R10")
@pytest.mark.parametrize("strategy", [("range",), ("cooperative-sticky",)])
def test_members_go_on_with_another_coordinator(strategy: tuple[str, ...]) -> None:
    def values(name: str) -> list[bytes]:
        return [b"%s%d" % (name.encode(), number) for number in range(40)]

    async def test(group: Group) -> None:
        await group.create("moved", 4)
        members = [await group.member(partition_assignment_strategy=strategy) for _ in range(2)]
        for member in members:
            member.start("moved")
        await until_true(lambda: [len(member.has) for member in members] == [3, 3])
        await group.produce("moved", values("before"), 4)
        await until_true(lambda: sum(len(member.values) for member in members) >= 40)
        stopped = await find_coordinator(group.client, group.group_id)
        await asyncio.to_thread(cluster.stop_broker, stopped)
        await group.produce("moved", values("after"), 4)
        expected = {*values("before"), *values("after")}
        await until_true(lambda: {value for member in members for value in member.values} == expected)
        assert [member.failure for member in members] == [None, None]
        described = await AdminClient(group.client).describe_group(group.group_id)
        assert (described.coordinator_id != stopped, len(described.members)) == (True, 2)
        await asyncio.to_thread(cluster.start_broker, stopped)

    with Cluster(brokers=3, overrides={"group.min.session.timeout.ms": "100"}) as cluster:
        with_group(cluster.bootstrap_servers, "moved", test)
