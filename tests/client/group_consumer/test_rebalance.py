from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.member_subscription import decode_subscription, encode_assignment
from signalbox.client.group_consumer.membership import Membership, Reaction
from signalbox.client.group_consumer.rebalance import Rebalance
from signalbox.client.rejections import MemberFenced, RequestRejected
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.group_consumer.scripted_coordinator import ScriptedCoordinator
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster, Script
from tests.waiting import until_true

T1 = TopicPartition("t1", 0)
NOTHING: frozenset[TopicPartition] = frozenset()
Case = Callable[[ScriptedCoordinator, Rebalance, Membership], Awaitable[None]]


def with_rebalance(test: Case) -> None:
    async def run(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        coordinator = ScriptedCoordinator(cluster)
        settings = GroupConsumerSettings(group_id="g", client_rack="r1")
        membership = Membership()
        requests = GroupRequests(client, settings, membership)
        await test(coordinator, Rebalance(client, requests, membership, settings), membership)

    with_client(run)


def test_a_member_gets_the_partitions_that_the_leader_gave_it() -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.assignment = encode_assignment([T1])
        assert await rebalance.run(frozenset({"t1"}), NOTHING, "why") == frozenset({T1})
        assert (membership.member_id, membership.generation, membership.protocol) == ("m-1", 1, "range")
        assert not membership.needs_join
        (join,) = coordinator.seen(ApiKey.JOIN_GROUP)
        assert [row.name for row in join.protocols] == ["range", "cooperative-sticky"]
        assert (join.protocol_type, join.reason, join.rebalance_timeout_ms) == ("consumer", "why", 300_000)
        sent = decode_subscription("", None, bytes(join.protocols[0].metadata))
        assert (sent.topics, sent.owned, sent.rack) == (frozenset({"t1"}), NOTHING, "r1")
        (sync,) = coordinator.seen(ApiKey.SYNC_GROUP)
        assert (sync.generation_id, sync.protocol_name, sync.assignments) == (1, "range", [])

    with_rebalance(test)


def test_the_leader_assigns_and_notices_that_its_topics_change() -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.leads = True
        assert await rebalance.run(frozenset({"t1", "absent"}), NOTHING) == frozenset({T1})
        assert not rebalance.counts_changed()
        coordinator.cluster.add_topic("absent", 1)
        updater = rebalance._client.metadata_updater
        updater.refresh_soon(["new"])
        while "new" not in updater.view.topics:
            await updater.view_changed(rebalance._client.deadline())
        assert rebalance.counts_changed()
        updater.view.forget()
        assert not rebalance.counts_changed(), "while bootstrapping nothing is known"

    with_rebalance(test)


def test_a_topic_that_the_leader_may_not_describe_does_not_hide_the_others() -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.leads = True
        for broker in coordinator.cluster.brokers.values():
            broker.scripts[ApiKey.METADATA] = without_the_right_on("secret", broker)
        await rebalance.run(frozenset({"t1", "secret"}), NOTHING)
        assert not rebalance.counts_changed()
        coordinator.cluster.add_topic("t1", 1, 2)
        rebalance._client.metadata_updater.refresh_soon(["new"])
        await until_true(rebalance.counts_changed)

    with_rebalance(test)


def test_a_subscription_that_is_not_readable_is_an_error_of_the_group() -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        answer = coordinator.cluster.brokers[1].scripts[ApiKey.JOIN_GROUP]

        def with_another_member(request: Any, version: int) -> Any:
            response = answer(request, version)
            response.members.append(JoinGroupResponse.JoinGroupResponseMember(member_id="m-2", metadata=b"x"))
            return response

        coordinator.leads = True
        coordinator.cluster.brokers[1].scripts[ApiKey.JOIN_GROUP] = with_another_member
        with pytest.raises(RequestRejected, match="JoinGroup of group g: the subscription of a member is not readable"):
            await rebalance.run(frozenset({"t1"}), NOTHING)

    with_rebalance(test)


def without_the_right_on(topic: str, broker: LoopbackBroker) -> Script:
    def answer(request: Any, version: int) -> Any:
        response = broker.metadata(request)
        for row in response.topics:
            if row.name == topic:
                row.error_code = Error.TOPIC_AUTHORIZATION_FAILED
        return response

    return answer


@pytest.mark.parametrize(
    ("api_key", "errors", "joins"),
    [
        (ApiKey.JOIN_GROUP, [Error.MEMBER_ID_REQUIRED], 2),
        (ApiKey.JOIN_GROUP, [Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR], 3),
        (ApiKey.JOIN_GROUP, [Error.UNKNOWN_MEMBER_ID], 2),
        (ApiKey.SYNC_GROUP, [Error.REBALANCE_IN_PROGRESS], 2),
        (ApiKey.FIND_COORDINATOR, [Error.COORDINATOR_NOT_AVAILABLE], 1),
    ],
)
def test_a_member_joins_until_it_has_its_partitions(api_key: ApiKey, errors: list[Error], joins: int) -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.assignment = encode_assignment([T1])
        coordinator.fail(api_key, *errors)
        assert await rebalance.run(frozenset({"t1"}), NOTHING) == frozenset({T1})
        assert len(coordinator.seen(ApiKey.JOIN_GROUP)) == joins

    with_rebalance(test)


def test_a_member_waits_during_join_and_sync_and_not_while_it_assigns() -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        waits: set[tuple[ApiKey, bool]] = set()

        def noting(api_key: ApiKey, answer: Script) -> Script:
            def note(request: Any, version: int) -> Any:
                if api_key != ApiKey.METADATA or request.topics:
                    waits.add((api_key, membership.waits))
                return answer(request, version)

            return note

        def metadata_of(broker: LoopbackBroker) -> Script:
            return lambda request, version: broker.metadata(request)

        coordinator.leads = True
        for broker in coordinator.cluster.brokers.values():
            for api_key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.METADATA):
                broker.scripts[api_key] = noting(api_key, broker.scripts.get(api_key) or metadata_of(broker))
        assert await rebalance.run(frozenset({"t1"}), NOTHING) == frozenset({T1})
        assert waits == {(ApiKey.JOIN_GROUP, True), (ApiKey.METADATA, False), (ApiKey.SYNC_GROUP, True)}
        assert not membership.waits

    with_rebalance(test)


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION])
def test_a_member_that_lost_its_partitions_ends_the_rebalance(error: Error) -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        membership.joined("m-1", 7, "range")
        coordinator.fail(ApiKey.SYNC_GROUP, error)
        assert await rebalance.run(frozenset({"t1"}), frozenset({T1})) is None
        assert (membership.lost, membership.needs_join, membership.is_member) == (True, True, False)

    with_rebalance(test)


def test_partitions_are_owned_in_the_generation_that_assigned_them() -> None:
    """A member that joined a generation and missed its assignment must not claim old partitions with the new number."""

    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        membership.joined("m-1", 7, "range")
        coordinator.generation = 7
        coordinator.fail(ApiKey.SYNC_GROUP, Error.REBALANCE_IN_PROGRESS)
        await rebalance.run(frozenset({"t1"}), frozenset({T1}))
        sent = [
            decode_subscription("", None, bytes(request.protocols[0].metadata))
            for request in coordinator.seen(ApiKey.JOIN_GROUP)
        ]
        assert [(row.owned, row.generation) for row in sent] == [(frozenset({T1}), 7)] * 2
        assert membership.generation == 9

    with_rebalance(test)


def test_a_member_that_is_expelled_while_it_syncs_joins_again() -> None:
    """A commit of the new generation may be rejected before the SyncGroup response arrives, which then has no worth."""

    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.assignment = encode_assignment([T1])
        answer = coordinator.cluster.brokers[1].scripts[ApiKey.SYNC_GROUP]

        def expelled_meanwhile(request: Any, version: int) -> Any:
            membership.react(Reaction.REJOIN_WITHOUT_GENERATION)
            membership.lost = False  # `poll` has noticed it, and goes on
            return answer(request, version)

        coordinator.cluster.brokers[1].scripts[ApiKey.SYNC_GROUP] = expelled_meanwhile
        assert await rebalance.run(frozenset({"t1"}), NOTHING) is None
        assert (membership.needs_join, membership.is_member) == (True, False)

    with_rebalance(test)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(Error.FENCED_INSTANCE_ID, MemberFenced), (Error.GROUP_MAX_SIZE_REACHED, RequestRejected)],
)
def test_a_final_error_is_raised(error: Error, kind: type[ClientFailure]) -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        coordinator.fail(ApiKey.JOIN_GROUP, error)
        with pytest.raises(kind, match="JoinGroup of group g"):
            await rebalance.run(frozenset({"t1"}), NOTHING)

    with_rebalance(test)


@pytest.mark.parametrize("sends", ["another protocol", "an assignment of one byte"])
def test_what_a_coordinator_must_not_send_is_a_final_error(sends: str) -> None:
    async def test(coordinator: ScriptedCoordinator, rebalance: Rebalance, membership: Membership) -> None:
        scripts = coordinator.cluster.brokers[1].scripts
        join = scripts[ApiKey.JOIN_GROUP]

        def with_another_protocol(request: Any, version: int) -> Any:
            response = join(request, version)
            response.protocol_name = "of-another-client"
            return response

        if sends == "another protocol":
            coordinator.leads = True
            scripts[ApiKey.JOIN_GROUP] = with_another_protocol
        else:
            coordinator.assignment = b"\0"
        with pytest.raises(RequestRejected, match=r"of-another-client|the assignment is not readable") as rejection:
            await rebalance.run(frozenset({"t1"}), NOTHING)
        assert rejection.value.error == Error.INCONSISTENT_GROUP_PROTOCOL
        assert membership.needs_join

    with_rebalance(test)
