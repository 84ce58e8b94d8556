"""Partition states that leaders wrote to the store, and their import by the controller."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import LeadersAnnounced, MetadataAnnounced
from signalbox.controller.partitions.leader_writes import (
    read_newer_states,
    read_states_of_failed_brokers,
    state_conflict_of,
    states_changed,
)
from signalbox.controller.replay import replay
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.registration import VERSION_WITH_FEATURES, VERSION_WITHOUT_FEATURES
from signalbox.metadata.layout import partition_path, partition_state_path, partitions_path, topic_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Operation, VersionConflict, Write
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, placed, state_text, tp

pytestmark = pytest.mark.spec("M2")


def three(text: str = "1* 2 3") -> ControllerContext:
    return make_context(1, 2, 3, topics={"t": {0: text}})


def written(context: ControllerContext, *isr: int, versions: int = 1) -> PartitionState:
    """The state that the leader of t-0 has written."""
    known = context.state(tp(0))
    assert known is not None
    return replace(known, isr=isr, partition_epoch=known.partition_epoch + versions)


def test_an_isr_that_a_leader_wrote_is_applied_and_announced_by_update_metadata_only() -> None:
    context = three()
    decision = states_changed(context, inputs(), {tp(0): written(context, 1, 2, versions=2)})
    assert state_text(after(context, decision).state(tp(0))) == "1/7/5 isr 1 2"
    assert decision.effects == (MetadataAnnounced((tp(0),)), LeadersAnnounced(()))
    assert replay(context, decision.records)[1] == [], "the store has it already"


def test_states_that_are_known_or_older_or_of_an_unknown_topic_change_nothing() -> None:
    context = three()
    for found in ({tp(0): written(context, 1, versions=0)}, {tp(0): written(context, 1, versions=-1)}):
        assert states_changed(context, inputs(), found) == states_changed(context, inputs(), {})
    unknown = {tp(9): written(context, 1), TopicPartition("gone", 0): written(context, 1)}
    assert states_changed(context, inputs(), unknown) == states_changed(context, inputs(), {})


def test_a_reassignment_that_waited_for_this_isr_ends() -> None:
    context = make_context(1, 2, 3, 4, topics={"t": {0: "4 1* 2 isr 1 2 adding 4 removing 2"}})
    decision = states_changed(context, inputs(), {tp(0): written(context, 1, 2, 4)})
    settled = after(context, decision)
    assert placed(settled) == "4 1 removed 2"
    assert state_text(settled.state(tp(0))) == "1/8/5 isr 1 4"
    [write] = [each for each in replay(context, decision.records)[1] if each.path == partition_state_path("t", 0)]
    assert isinstance(write, Write)
    assert write.expected_version == 4, "on top of what the leader wrote"
    assert any(isinstance(effect, LeadersAnnounced) for effect in decision.effects)


def test_a_failed_broker_leaves_the_isr_to_which_its_leader_added_it() -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2 3 isr 1 2"}})
    found = {tp(0): written(context, 1, 2, 3)}
    decision = states_changed(context, inputs(), found)
    assert state_text(after(context, decision).state(tp(0))) == "1/8/5 isr 1 2"
    assert LeadersAnnounced((tp(0),)) in decision.effects
    deleting = replace(context, deleting={"t": frozenset()})
    assert state_text(after(deleting, states_changed(deleting, inputs(), found)).state(tp(0))) == "1/7/4 isr 1 2 3"
    offline = replace(three(), offline_replicas={3: frozenset({tp(0)})})
    assert state_text(after(offline, states_changed(offline, inputs(), found)).state(tp(0))) == "1/8/5 isr 1 2"


def test_a_conflict_at_a_state_names_all_states_of_the_commit() -> None:
    paths = [partition_state_path("t", 0), partition_state_path("u.v", 12)]
    operations: list[Operation] = [
        Write(paths[0], b"", 3),
        Delete("/config/users/u"),
        Write(topic_path("t"), b""),
        Write(paths[1], b""),
    ]
    moved = state_conflict_of(VersionConflict(paths[1], "has another version"), operations)
    assert moved is not None
    assert (moved.path, moved.partitions) == (paths[1], (tp(0), TopicPartition("u.v", 12)))
    assert state_conflict_of(VersionConflict(topic_path("t"), "has another version"), operations) is None


class Store(MemoryMetadataStore):
    """Topic t with one partition, whose state was written `writes` times; records the paths of reads."""

    asked: tuple[str, ...] = ()

    async def read(self, path: str) -> Any:
        self.asked += (path,)
        return await super().read(path)

    @classmethod
    async def opened(cls, context: ControllerContext, *isr: int, writes: int = 4) -> Store:
        store = cls(SharedEntries())
        folders = ("/brokers", "/brokers/topics", topic_path("t"), partitions_path("t"), partition_path("t", 0))
        await store.commit([Create(path) for path in (*folders, STATE)])
        for _ in range(writes):
            await store.commit([Write(STATE, written(context, *isr).encode())])
        return store


STATE = partition_state_path("t", 0)


@pytest.mark.parametrize("version", [VERSION_WITHOUT_FEATURES, VERSION_WITH_FEATURES])
def test_before_a_brokers_end_is_decided_states_are_read_if_any_leader_may_write_them(version: int) -> None:
    async def run() -> None:
        context = three()
        leader = context.brokers[1]
        registered = replace(leader, registration=replace(leader.registration, version=version))
        context = replace(context, brokers={**context.brokers, 1: registered})
        store = await Store.opened(context, 1, 3)
        now = {1: registered, 3: context.brokers[3]}
        update = await read_states_of_failed_brokers(store, context, now)
        if version == VERSION_WITH_FEATURES:
            assert (update, store.asked) == (None, ())
            return
        assert update is not None
        assert state_text(after(context, update(context, inputs())).state(tp(0))) == "1/7/4 isr 1 3"
        store.asked = ()
        assert await read_states_of_failed_brokers(store, context, context.brokers) is None
        assert store.asked == (), "no broker has failed"
        restarted = {**context.brokers, 2: replace(context.brokers[2], broker_epoch=999)}
        assert await read_states_of_failed_brokers(store, context, restarted) is not None

    asyncio.run(run())


def test_only_known_partitions_are_read_and_only_newer_states_are_applied() -> None:
    async def run() -> None:
        context = three()
        store = await Store.opened(context, 1, writes=3)  # the context has this state already
        named = [tp(0), TopicPartition("../etc", 0), tp(5), tp(0), TopicPartition("gone", 1)]
        assert await read_newer_states(store, context, named) is None
        assert store.asked == (STATE,)
        await store.commit([Write(STATE, written(context, 1).encode())])
        update = await read_newer_states(store, context, named)
        assert update is not None
        assert state_text(after(context, update(context, inputs())).state(tp(0))) == "1/7/4 isr 1"

    asyncio.run(run())
