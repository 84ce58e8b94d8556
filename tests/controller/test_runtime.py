"""A complete controller over both stores: controller epochs, event batches, fencing, failover (SPEC F1, M3, C2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from signalbox.common.clock import SystemClock
from signalbox.common.endpoint import Endpoint
from signalbox.common.ids import TopicPartition
from signalbox.common.metrics import Histogram
from signalbox.controller.context import ControllerContext
from signalbox.controller.entities.token_control import TokenRequest
from signalbox.controller.runtime import Controller
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.log_dir_event import report_log_dir_failure
from signalbox.metadata.entries.partition_state import PartitionState, decode_partition_state
from signalbox.metadata.entries.registration import RegisteredLogDir
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.metadata.layout import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELEGATION_TOKENS,
    TOPICS,
    broker_id_path,
    create_roots,
    partition_path,
    partition_state_path,
    partitions_path,
    topic_path,
)
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, FencedOut, Operation, Write
from signalbox.protocol import own_tags
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import (
    ControllerNode,
    RecordingChannels,
    Scenario,
    brokers_known,
    create,
    dependencies,
    good_response,
    inputs,
    register,
    registration,
    start_node,
    start_three,
    stop,
)
from tests.controller.contexts import state_text, tp
from tests.metadata.store.worlds import fill, make_room


async def the_controller(nodes: Sequence[ControllerNode]) -> ControllerNode:
    """Waits until one of `nodes` is the controller; returns it."""
    waits = [asyncio.ensure_future(node.until_active()) for node in nodes]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    return next(node for node in nodes if node.controller.is_active)


def test_a_topic_is_stored_announced_and_visible(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        assert await create(controller, "t") == [Error.NONE]
        assert controller.cache.image.topics["t"].partitions[0].leader == 1
        assert await nodes[1].store.read(topic_path("t")) is not None
        for broker_id in (1, 2, 3):
            [leaders] = controller.channels.requests_to(broker_id, LeaderAndIsrRequest)
            assert leaders.topic_states[0].partition_states[0].is_new
            assert leaders.broker_epoch == nodes[broker_id - 1].broker_epoch
        assert controller.channels.endpoints[2].port == 9202, "the control plane of the target"
        assert await create(controller, "t") == [Error.TOPIC_ALREADY_EXISTS]
        await stop(nodes)

    run(scenario)


def test_others_answer_not_controller(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        assert not nodes[1].controller.is_active
        assert nodes[1].controller.context is None
        assert await create(nodes[1], "t", "u") == [Error.NOT_CONTROLLER] * 2
        assert await nodes[0].store.children(TOPICS) == []
        await stop(nodes)

    run(scenario)


def test_decisions_that_arrive_together_share_a_commit(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        answers = await asyncio.gather(*(create(nodes[0], f"t{number}", "same") for number in range(20)))
        assert [first for first, _ in answers] == [Error.NONE] * 20
        assert [second for _, second in answers].count(Error.NONE) == 1
        assert [second for _, second in answers].count(Error.TOPIC_ALREADY_EXISTS) == 19
        entries = await nodes[0].store.read_tree(TOPICS)
        commits = {entries[topic_path(f"t{number}")].creation_id for number in range(20)}
        assert len(commits) <= 2
        await stop(nodes)

    run(scenario)


def test_a_topic_that_is_not_led_in_time(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        nodes[0].channels.cache_of = 0  # this broker's metadata gets no further update
        assert await create(nodes[0], "t", timeout_ms=10) == [Error.REQUEST_TIMED_OUT]
        assert await create(nodes[0], "u", timeout_ms=0) == [Error.REQUEST_TIMED_OUT]
        assert await nodes[0].store.children(TOPICS) == ["t", "u"]
        await stop(nodes)

    run(scenario)


def test_a_topic_goes_when_all_brokers_have_deleted_it(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create(controller, "t")
        request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=5_000)
        response = await controller.controller.handle(ApiKey.DELETE_TOPICS, request)
        assert isinstance(response, DeleteTopicsResponse)
        assert response.responses[0].error_code == Error.NONE
        assert "t" not in controller.cache.image.topics
        context = controller.controller
        await controller.until(lambda: context.context is not None and "t" not in context.context.topics)
        assert await controller.store.children(TOPICS) == []
        assert all(controller.channels.requests_to(broker_id, StopReplicaRequest) for broker_id in (1, 2, 3))
        assert await create(controller, "t") == [Error.NONE]
        await stop(nodes)

    run(scenario)


def test_a_dead_broker_loses_its_leaderships_and_gets_its_replicas_back(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create(controller, "t")
        await nodes[1].controller.stop()
        nodes[1].store.abandon()
        await controller.until(lambda: brokers_known(controller) == {1, 3})
        assert controller.controller.context is not None
        assert state_text(controller.controller.context.state(tp(1))) == "3/1/1 isr 3 1"
        assert state_text(controller.controller.context.state(tp(0))) == "1/1/1 isr 1 3"
        await controller.until(lambda: controller.cache.image.topics["t"].partitions[1].leader == 3)
        controller.channels.sent.clear()
        back = await start_node(2, participant())
        await controller.until(lambda: bool(controller.channels.requests_to(2, LeaderAndIsrRequest)))
        updates = controller.channels.requests_to(2, UpdateMetadataRequest)
        assert updates[0].broker_epoch == back.broker_epoch > nodes[1].broker_epoch
        assert updates[0].topic_states, "a new broker gets the full metadata first"
        await stop([controller, nodes[2], back])

    run(scenario)


def test_a_dead_controller_is_followed_by_another_and_nothing_is_lost(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        for number in range(5):
            assert await create(nodes[0], f"t{number}") == [Error.NONE]
        nodes[0].store.abandon()
        new = await the_controller(nodes[1:])
        await nodes[0].controller.stop()
        await new.until(lambda: brokers_known(new) == {2, 3})
        assert new.controller.context is not None
        assert set(new.controller.context.topics) == {f"t{number}" for number in range(5)}
        assert new.controller.context.controller_epoch == 2
        await new.until(lambda: len(new.cache.image.topics) == 5)
        assert all(
            partition.leader in (2, 3)
            for topic in new.cache.image.topics.values()
            for partition in topic.partitions.values()
        )
        await stop(nodes[1:])

    run(scenario)


def test_a_paused_controllers_writes_are_rejected(run: Callable[[Scenario], None]) -> None:
    """M3: two nodes believe to be the controller; the store accepts only the new one's writes."""

    async def scenario(participant: Callable[[], Any]) -> None:
        held = HeldStore(participant())
        old = await start_node(1, held)
        await old.until_active()
        held.hold()
        late = asyncio.ensure_future(create(old, "late", factor=1))
        await held.has_one_waiting()
        # The old controller is paused just before its commit; meanwhile another node becomes the controller.
        other = participant()
        await other.open_session()
        entry = await other.read(CONTROLLER)
        assert entry is not None
        await other.commit([*taking_over(entry.version)])
        held.let_go()
        assert await late == [Error.NOT_CONTROLLER]
        assert isinstance(held.rejected, FencedOut)
        assert await other.children(TOPICS) == []
        await old.until(lambda: not old.controller.is_active)
        await old.controller.stop()

    run(scenario)


def test_a_lost_session_ends_the_term() -> None:
    async def scenario() -> None:
        shared = SharedEntries()
        nodes = [await start_node(number, MemoryMetadataStore(shared)) for number in (1, 2)]
        await nodes[0].until_active()
        session_id = nodes[0].store.session_id
        shared.expire(session_id)
        await nodes[1].until_active()
        await nodes[0].until(lambda: not nodes[0].controller.is_active)
        assert nodes[0].channels.endpoints == {}
        assert await create(nodes[0], "t") == [Error.NOT_CONTROLLER]
        await stop(nodes)

    asyncio.run(scenario())


def test_a_term_ends_with_its_entry_and_the_same_node_can_begin_another(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        node = await start_node(1, participant())
        await node.until_active()
        other = participant()
        entry = await other.read(CONTROLLER)
        assert entry is not None
        await other.commit([*taking_over(entry.version)][:1])  # as when an operator deletes the entry
        await node.until(lambda: node.controller.context is not None and node.controller.context.controller_epoch == 2)
        await stop([node])

    run(scenario)


def test_isr_changes_reach_brokers_without_leader_and_isr(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create(controller, "t")
        controller.channels.sent.clear()
        topic_id = controller.cache.image.topic_id("t")
        wanted = AlterPartitionRequest.PartitionData(
            partition_index=0, leader_epoch=0, partition_epoch=0, new_isr=[1, 2]
        )
        request = AlterPartitionRequest(
            broker_id=1,
            broker_epoch=nodes[0].broker_epoch,
            topics=[AlterPartitionRequest.TopicData(topic_id=topic_id, partitions=[wanted])],
        )
        response: Any = await controller.controller.handle(ApiKey.ALTER_PARTITION, request)
        assert response.topics[0].partitions[0].partition_epoch == 1
        await controller.until(lambda: bool(controller.channels.requests_to(3, UpdateMetadataRequest)))
        assert controller.channels.requests_to(1, LeaderAndIsrRequest) == []
        assert controller.cache.image.topics["t"].partitions[0].isr == (1, 2)
        await stop(nodes)

    run(scenario)


@pytest.mark.spec("M3")
def test_a_partition_state_that_another_program_wrote_ends_the_epoch(
    run: Callable[[Scenario], None],
) -> None:
    """A leader on Kafka below inter.broker.protocol.version 2.7 stores its ISR itself, and fails. The commit that would
    elect by the ISR that the controller knows is rejected; the next controller epoch elects by the stored one."""

    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller, leader = nodes[0], nodes[1]
        await create(controller, "t")
        path = partition_state_path("t", 1)
        entry = await leader.store.read(path)
        state = decode_partition_state(path, entry.data, entry.version)
        await leader.store.commit([Write(path, replace(state, isr=(2, 1)).encode(), entry.version)])
        await leader.controller.stop()
        leader.store.abandon()
        left = [controller, nodes[2]]

        def contexts() -> list[ControllerContext]:
            return [each for node in left if (each := node.controller.context) and each.controller_epoch == 2]

        await controller.until(lambda: [state_text(each.state(tp(1))) for each in contexts()] == ["1/1/2 isr 1"])
        await stop(left)

    run(scenario)


def test_a_failed_log_directory_moves_leaders(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create(controller, "t")

        def broken(broker_id: int, request: Message) -> Message:
            answer = good_response(request)
            if broker_id == 2 and isinstance(answer, LeaderAndIsrResponse):
                for topic in answer.topics:
                    for each in topic.partition_errors:
                        each.error_code = Error.KAFKA_STORAGE_ERROR if each.partition_index == 1 else Error.NONE
            return answer

        controller.channels.answer = broken
        await report_log_dir_failure(nodes[1].store, 2)
        await controller.until(lambda: controller.cache.image.topics["t"].partitions[1].leader == 3)
        assert controller.cache.image.topics["t"].partitions[1].offline_replicas == (2,)
        assert controller.cache.image.topics["t"].partitions[0].offline_replicas == ()
        await stop(nodes)

    run(scenario)


class FixedProbe:
    """A probe with a fixed result."""

    def __init__(self, dead: bool) -> None:
        self.dead = dead
        self.asked: list[tuple[int, int]] = []

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        self.asked.append((broker_id, len(endpoints)))
        return self.dead


@pytest.mark.parametrize("dead", [True, False])
def test_a_closed_connection_is_confirmed_and_acted_on_at_once(run: Callable[[Scenario], None], dead: bool) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store, probe = participant(), FixedProbe(dead)
        await store.open_session()
        await create_roots(store)
        cache = MetadataCache()
        channels = RecordingChannels(cache, 1)
        controller = Controller(1, store, dependencies(channels, cache, probe), inputs())
        node = ControllerNode(1, store, controller, channels, cache, 0)
        for broker_id in (2, 3):
            peer = participant()
            await peer.open_session()
            await register(peer, registration(broker_id))
        await controller.start()
        gone = asyncio.Event()
        await node.until(lambda: brokers_known(node) == {2, 3})
        store.watch(broker_id_path(2), gone.set)
        assert await store.read(broker_id_path(2)) is not None
        for _ in range(3):
            controller.on_broker_connection_refused(2, was_connected=True)
        controller.on_broker_connection_refused(9, was_connected=True)
        if dead:
            await node.until(lambda: brokers_known(node) == {3})
            assert await store.read(broker_id_path(2)) is None
        else:
            await asyncio.sleep(0)
            await store.commit([Create("/settled")])
            assert brokers_known(node) == {2, 3}
        assert probe.asked == [(2, 3)]
        await controller.stop()

    run(scenario)


def test_a_new_broker_that_does_not_listen_yet_is_waited_for(run: Callable[[Scenario], None]) -> None:
    """Kafka's brokers register before they listen. A broker that registered before the election is not waited for."""

    async def scenario(participant: Callable[[], Any]) -> None:
        found, store, new_broker = participant(), participant(), participant()
        for peer in (found, store, new_broker):
            await peer.open_session()
        await create_roots(store)
        await register(found, registration(2))
        cache, probe = MetadataCache(), FixedProbe(dead=True)
        channels = RecordingChannels(cache, 1)
        controller = Controller(1, store, dependencies(channels, cache, probe), inputs())
        node = ControllerNode(1, store, controller, channels, cache, 0)
        await controller.start()
        await node.until(lambda: brokers_known(node) == {2})
        await register(new_broker, registration(3))
        await node.until(lambda: brokers_known(node) == {2, 3})
        controller.on_broker_connection_refused(3, was_connected=False)
        controller.on_broker_connection_refused(2, was_connected=False)
        await node.until(lambda: brokers_known(node) == {3})
        controller.on_broker_connection_refused(3, was_connected=True)
        await node.until(lambda: brokers_known(node) == set())
        assert probe.asked == [(2, 3), (3, 3)]
        await controller.stop()

    run(scenario)


@pytest.mark.spec("M3")
@pytest.mark.parametrize("dead", [True, False])
def test_a_controller_that_refuses_connections_is_replaced_before_its_session_ends(
    run: Callable[[Scenario], None], dead: bool
) -> None:
    """In this test the old controller still runs and its session lasts: it resigns, and only one controller is left."""

    async def scenario(participant: Callable[[], Any]) -> None:
        [old, *_] = nodes = await start_three(participant)
        probe = FixedProbe(dead)
        store = participant()
        await store.open_session()
        await register(store, registration(4))
        cache = MetadataCache()
        channels = RecordingChannels(cache, 4)
        successor = ControllerNode(
            4, store, Controller(4, store, dependencies(channels, cache, probe), inputs()), channels, cache, 0
        )
        await successor.controller.start()
        await old.until(lambda: brokers_known(old) == {1, 2, 3, 4})
        await successor.until(lambda: successor.controller._controller_id == 1)
        for _ in range(3):
            successor.controller.on_controller_connection_refused(1)
        successor.controller.on_controller_connection_refused(2)
        if dead:
            await successor.until_active()
            await old.until(lambda: not old.controller.is_active)
            assert await create(old, "late") == [Error.NOT_CONTROLLER]
            assert await create(successor, "t") == [Error.NONE]
            assert successor.controller.context is not None
            assert successor.controller.context.controller_epoch == 2
        else:
            await successor.until(lambda: probe.asked != [])
            await store.commit([Create("/settled")])
            assert old.controller.is_active
            assert not successor.controller.is_active
        assert probe.asked == [(1, 3)]
        await stop([*nodes, successor])

    run(scenario)


def test_leadership_goes_back_to_a_broker_that_returned(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        often = {"first_housekeeping_s": 0.3, "leader_imbalance_check_interval_seconds": 1}
        settings = {"auto_leader_rebalance_enable": True, **often}
        nodes = await start_three(participant, **settings)
        controller = nodes[0]
        await create(controller, "t")
        await nodes[1].controller.stop()
        nodes[1].store.abandon()
        await controller.until(lambda: controller.cache.image.topics["t"].partitions[1].leader == 3)
        back = await start_node(2, participant())
        await controller.until(lambda: brokers_known(controller) == {1, 2, 3})
        await enter_isr(controller, tp(1), leader=(3, nodes[2].broker_epoch), isr=[3, 1, 2])
        await controller.until(lambda: controller.cache.image.topics["t"].partitions[1].leader == 2)
        await stop([controller, nodes[2], back])

    run(scenario)


def test_tokens_whose_time_is_over_go_by_themselves(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        secret = TokenSecret("s")
        node = await start_node(1, participant(), token_secret=secret, delegation_token_expiry_check_interval_ms=20)
        await node.until_active()
        wanted = CreateDelegationTokenRequest(max_lifetime_ms=1_000)
        asked = TokenRequest(KafkaPrincipal("User", "alice"), wanted)
        created: Any = await node.controller.handle(ApiKey.CREATE_DELEGATION_TOKEN, asked)
        assert await node.store.children(DELEGATION_TOKENS) == [created.token_id]
        await node.until(lambda: node.controller.context is not None and not node.controller.context.tokens)
        assert SystemClock().now_ms() > created.max_timestamp_ms
        assert await node.store.children(DELEGATION_TOKENS) == []
        await stop([node])

    run(scenario)


async def enter_isr(node: ControllerNode, partition: TopicPartition, leader: tuple[int, int], isr: list[int]) -> None:
    """Sends AlterPartition, as the partition's leader does when a replica has caught up."""
    known = node.cache.image.topics[partition.topic].partitions[partition.partition]
    wanted = AlterPartitionRequest.PartitionData(
        partition_index=partition.partition,
        leader_epoch=known.leader_epoch,
        partition_epoch=known.partition_epoch,
        new_isr=isr,
    )
    topic = AlterPartitionRequest.TopicData(topic_id=node.cache.image.topic_id(partition.topic), partitions=[wanted])
    request = AlterPartitionRequest(broker_id=leader[0], broker_epoch=leader[1], topics=[topic])
    response: Any = await node.controller.handle(ApiKey.ALTER_PARTITION, request)
    assert response.topics[0].partitions[0].error_code == Error.NONE


def taking_over(version: int) -> list[Operation]:
    """The store operations of another controller's claim."""
    claim = b'{"version":2,"brokerid":9,"timestamp":"0","kraftControllerEpoch":-1}'
    return [Delete(CONTROLLER, version), Create(CONTROLLER, claim, of_session=True), Write(CONTROLLER_EPOCH, b"2")]


class HeldStore:
    """A store whose commits can be held back, as if the process were paused just before them."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._may_go = asyncio.Event()
        self._may_go.set()
        self._waiting = asyncio.Event()
        self.rejected: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def hold(self) -> None:
        self._may_go.clear()

    def let_go(self) -> None:
        self._may_go.set()

    async def has_one_waiting(self) -> None:
        await self._waiting.wait()

    async def commit(self, *arguments: Any) -> Any:
        if not self._may_go.is_set():
            self._waiting.set()
            await self._may_go.wait()
        try:
            return await self._store.commit(*arguments)
        except Exception as error:
            self.rejected = error
            raise


@pytest.mark.spec("C5")
def test_a_large_decision_gives_way_to_others(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        node = await start_node(1, participant())
        await node.until_active()
        loop = asyncio.get_running_loop()
        runs = 0

        def count() -> None:
            nonlocal runs
            runs += 1
            if not created.done():
                loop.call_soon(count)

        topic = CreateTopicsRequest.CreatableTopic(name="large", num_partitions=2_000, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
        created = asyncio.ensure_future(node.controller.handle(ApiKey.CREATE_TOPICS, request))
        count()
        answer: Any = await created
        assert answer.topics[0].error_code == Error.NONE
        assert runs > 50  # tens of milliseconds in slices of 0.1 ms; without slices the loop would run a few times
        await node.controller.stop()

    run(scenario)


def test_requests_of_a_stopped_controller_are_answered(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        held = HeldStore(participant())
        node = await start_node(1, held)
        await node.until_active()
        await node.until(lambda: bool(node.channels.sent))
        held.hold()
        resources = [IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=4, resource_name="1")]
        resources[0].configs = [IncrementalAlterConfigsRequest.AlterableConfig(name="a", value="b")]
        request = IncrementalAlterConfigsRequest(resources=resources)
        waiting = asyncio.ensure_future(node.controller.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, request))
        await held.has_one_waiting()
        assert len(node.controller.queue) >= 1  # the first read of the brokers may be queued too
        await node.controller.stop()
        answer: Any = await waiting
        assert answer.responses[0].error_code == Error.NOT_CONTROLLER

    run(scenario)


@pytest.mark.spec("F15")
def test_a_dedicated_controller_keeps_its_own_metadata(run: Callable[[Scenario], None]) -> None:
    """It is active once its metadata is loaded. Its requests contain its own id, which is no broker's. After the next
    election its metadata is built again."""

    async def scenario(participant: Callable[[], Any]) -> None:
        brokers = participant()
        await brokers.open_session()
        await create_roots(brokers)
        for broker_id in (1, 2, 3):
            await register(brokers, registration(broker_id))
        store, cache = participant(), MetadataCache()
        await store.open_session()
        channels = RecordingChannels(cache, 0)
        controller = Controller(101, store, dependencies(channels, cache, updates_own_cache=True), inputs())
        node = ControllerNode(101, store, controller, channels, cache, -1)
        await controller.start()
        await node.until(lambda: controller.is_active)
        assert set(cache.image.brokers) == {1, 2, 3}
        assert await create(node, "t") == [Error.NONE]
        assert cache.image.topics["t"].partitions[0].leader == 1
        assert cache.image.controller_id == 101
        [leaders] = channels.requests_to(1, LeaderAndIsrRequest)
        assert (leaders.controller_id, leaders.is_kraft_controller) == (101, False)
        cache.apply_update_metadata(
            UpdateMetadataRequest(
                topic_states=[
                    UpdateMetadataRequest.UpdateMetadataTopicState(
                        topic_name="stale",
                        partition_states=[UpdateMetadataRequest.UpdateMetadataPartitionState(partition_index=0)],
                    )
                ]
            )
        )
        term = cache.image.controller_epoch
        await store.commit([Delete(CONTROLLER)])
        await node.until(
            lambda: controller.is_active and controller.context is not None and "stale" not in cache.image.topics
        )
        assert set(cache.image.topics) == {"t"}
        assert cache.image.controller_epoch >= term
        await controller.stop()

    run(scenario)


@pytest.mark.spec("M3")
def test_a_full_store_rejects_the_change_and_the_term_goes_on(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await fill(controller.store)
        before = controller.controller.context
        assert before is not None
        topic = CreateTopicsRequest.CreatableTopic(name="large", num_partitions=1_000, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
        answer, small = await asyncio.gather(
            controller.controller.handle(ApiKey.CREATE_TOPICS, request), create(controller, "small")
        )
        assert isinstance(answer, CreateTopicsResponse)
        [rejected] = answer.topics
        assert rejected.error_code == Error.KAFKA_STORAGE_ERROR
        assert rejected.error_message is not None
        assert "is full" in rejected.error_message
        assert small == [Error.NONE], "what fits is stored, though it came together with what does not"
        assert await controller.store.children(TOPICS) == ["small"]
        assert controller.controller.context is not None
        assert set(controller.controller.context.topics) == {"small"}
        assert controller.controller.context.controller_epoch == before.controller_epoch
        await make_room(controller.store)
        assert await create(controller, "large") == [Error.NONE], "nothing of it was left behind"
        await stop(nodes)

    run(scenario)


def test_elections_are_deferred_while_the_store_is_full() -> None:
    async def scenario() -> None:
        shared = SharedEntries()
        nodes = await start_three(lambda: MemoryMetadataStore(shared))
        controller = nodes[0]
        await create(controller, "t")
        shared.free_space_bytes = 0
        await nodes[1].controller.stop()
        nodes[1].store.abandon()
        await controller.until(lambda: controller.controller.queue.held == 1)
        assert await create(controller, "u") == [Error.KAFKA_STORAGE_ERROR]
        assert brokers_known(controller) == {1, 2, 3}
        shared.free_space_bytes = None
        await controller.until(lambda: brokers_known(controller) == {1, 3})
        assert controller.controller.context is not None
        assert state_text(controller.controller.context.state(tp(1))) == "3/1/1 isr 3 1"
        assert controller.controller.context.controller_epoch == 1
        assert len(controller.controller.queue) == 0
        await stop([controller, nodes[2]])

    asyncio.run(scenario())


class Recorded(Histogram):
    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def record(self, value: float) -> None:
        self.values.append(value)


@pytest.mark.spec("C5")
def test_each_broker_s_leader_and_isr_is_traced_from_its_decision(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store, traced = participant(), Recorded()
        await store.open_session()
        await create_roots(store)
        await register(store, registration(1))
        cache = MetadataCache()
        channels = RecordingChannels(cache, 1)
        controller = Controller(1, store, dependencies(channels, cache, until_applied=traced), inputs())
        node = ControllerNode(1, store, controller, channels, cache, 0)
        await controller.start()
        await node.until(lambda: brokers_known(node) == {1})
        assert traced.values == [], "UpdateMetadata is not traced"
        await create(node, "t", factor=1)
        await node.until(lambda: bool(traced.values))
        assert len(traced.values) == len(channels.requests_to(1, LeaderAndIsrRequest))
        assert all(0 < value < 10_000 for value in traced.values)
        await controller.stop()

    run(scenario)


@pytest.mark.spec("D3", "M1")
@pytest.mark.parametrize("has_log", [True, False])
def test_an_election_waits_for_members_of_the_isr_for_a_while_only(
    run: Callable[[Scenario], None], has_log: bool
) -> None:
    """Node 1 comes back after an unclean shutdown; node 2, the former leader, does not."""

    async def scenario(participant: Callable[[], Any]) -> None:
        store = participant()
        await store.open_session()
        await create_roots(store)
        topic_id, path = b"i" * 16, partition_state_path("t", 0)
        state = PartitionState(2, 3, (1, 2), 1, 0)
        entries = (
            (topic_path("t"), TopicAssignment(topic_id, {0: (1, 2)}).encode()),
            (partitions_path("t"), None),
            (partition_path("t", 0), None),
            (path, state.encode()),
            ("/config/topics/t", b'{"version":1,"config":{}}'),
        )
        await store.commit([Create(each, data) for each, data in entries])
        restarted = registration(1, log_dirs=(RegisteredLogDir(b"d" * 16),))
        node = await start_node(1, participant(), restarted, unclean_shutdown_election_wait_ms=50)

        def answer(broker_id: int, request: Message) -> Message:
            response = good_response(request)
            if isinstance(response, LeaderAndIsrResponse):
                for each in (entry for topic in response.topics for entry in topic.partition_errors):
                    own_tags.put_log_end(each, *((3, 10) if has_log else (-1, -1)))
            return response

        node.channels.answer = answer
        partition = TopicPartition("t", 0)

        def settled() -> bool:
            context = node.controller.context
            if context is None or (known := context.state(partition)) is None:
                return False
            return known.leader == 1 if has_log else partition in context.waited

        await node.until(settled)
        entry = await store.read(path)
        stored = decode_partition_state(path, entry.data, entry.version)
        assert (stored.leader, stored.isr) == ((1, (1,)) if has_log else (-1, (1, 2)))
        assert stored.unverified == (() if has_log else (1,))
        assert ("came back without its log" in str(node.cache.image.partition("t", 0))) is not has_log
        await stop([node])

    run(scenario)
