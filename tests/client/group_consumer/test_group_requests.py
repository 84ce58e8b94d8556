from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Purpose
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackCluster, Script

T0 = TopicPartition("t", 0)
Case = Callable[[ScriptedCoordinator, GroupRequests, ClusterClient], Awaitable[None]]


def with_requests(test: Case) -> None:
    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        membership = Membership("instance")
        membership.joined("m-1", 4, "range")
        await test(
            ScriptedCoordinator(cluster),
            GroupRequests(client, GroupConsumerSettings(group_id="g", group_instance_id="instance"), membership),
            client,
        )

    with_client(run)


def test_the_coordinator_is_looked_up_once_until_it_moves() -> None:
    async def test(coordinator: ScriptedCoordinator, requests: GroupRequests, client: ClusterClient) -> None:
        assert [await requests.coordinator() for _ in range(3)] == [1, 1, 1]
        assert len(coordinator.seen(ApiKey.FIND_COORDINATOR)) == 1
        requests.coordinator_moved()
        await requests.coordinator()
        assert len(coordinator.seen(ApiKey.FIND_COORDINATOR)) == 2
        client.metadata_updater.rebootstrap.starts_over += 1
        await requests.coordinator()
        assert len(coordinator.seen(ApiKey.FIND_COORDINATOR)) == 3, "node ids of the old cluster mean nothing"

    with_requests(test)


def test_a_coordinator_that_is_missing_for_long_is_a_warning_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(coordinator: ScriptedCoordinator, requests: GroupRequests, client: ClusterClient) -> None:
        coordinator.fail(ApiKey.FIND_COORDINATOR, *[Error.COORDINATOR_NOT_AVAILABLE] * 4)
        for silent_s, warnings in ((60.0, 0), (0.0, 1), (0.0, 1)):
            monkeypatch.setattr("signalbox.client.group_consumer.group_requests._SILENT_S", silent_s)
            with pytest.raises(KafkaError):
                await requests.coordinator()
            assert len(caplog.records) == warnings
        assert "Group g has no coordinator and waits for one: COORDINATOR_NOT_AVAILABLE" in caplog.text
        with pytest.raises(KafkaError):
            await requests.coordinator()
        assert await requests.coordinator() == 1
        requests.coordinator_moved()
        coordinator.fail(ApiKey.FIND_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
        with pytest.raises(KafkaError):
            await requests.coordinator()
        assert len(caplog.records) == 2

    with_requests(test)


def test_membership_and_commits_have_connections_of_their_own() -> None:
    async def test(coordinator: ScriptedCoordinator, requests: GroupRequests, client: ClusterClient) -> None:
        await requests.heartbeat()
        await requests.sync({"m-1": b"\0\1"})
        await requests.commit({T0: CommittedOffset(1, -1, None)}, 1_000)
        await requests.leave("over", 1_000)
        purposes = {key.purpose for key, _ in client.metadata_updater.pool.connections() if key.node_id == 1}
        assert {Purpose.GROUP, Purpose.COORDINATOR} <= purposes
        (sync,) = coordinator.seen(ApiKey.SYNC_GROUP)
        assert (sync.group_instance_id, sync.protocol_type, sync.protocol_name) == ("instance", "consumer", "range")
        (leave,) = coordinator.seen(ApiKey.LEAVE_GROUP)
        assert [(row.member_id, row.reason) for row in leave.members] == [("m-1", "over")]

    with_requests(test)


def test_the_lookup_of_the_coordinator_is_part_of_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(coordinator: ScriptedCoordinator, requests: GroupRequests, client: ClusterClient) -> None:
        timeouts_ms: list[float] = []
        ask = client.request

        def noting(*args: Any, **kwargs: Any) -> Any:
            timeouts_ms.append(kwargs["timeout_ms"])
            return ask(*args, **kwargs)

        for broker in coordinator.cluster.brokers.values():
            broker.scripts[ApiKey.FIND_COORDINATOR] = slowly(broker.scripts[ApiKey.FIND_COORDINATOR])
        monkeypatch.setattr(client, "request", noting)
        await requests.commit({T0: CommittedOffset(1, -1, None)}, 5_000)
        assert timeouts_ms[0] <= 4_900

    with_requests(test)


def slowly(answer: Script) -> Script:
    async def answer_later(request: Any, version: int) -> Any:
        due = asyncio.Event()
        asyncio.get_running_loop().call_later(0.1, due.set)
        await due.wait()
        return answer(request, version)

    return answer_later


def test_an_older_coordinator_gets_the_fields_that_it_knows() -> None:
    async def test(coordinator: ScriptedCoordinator, requests: GroupRequests, client: ClusterClient) -> None:
        for broker in coordinator.cluster.brokers.values():
            broker.max_versions[ApiKey.LEAVE_GROUP] = 2
        await requests.leave("over", 1_000)
        (leave,) = coordinator.seen(ApiKey.LEAVE_GROUP)
        assert (leave.member_id, leave.members) == ("m-1", [])

    with_requests(test)
