"""Random members, pauses, rejections and failovers: invariants.

Every request gets exactly one response. The generations of assignments never decrease, failovers included. An offset
whose commit was acknowledged is kept until a later commit replaces it, failovers included.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.coordinator.bench import UPDATE, Bench, BenchCall, settle, subscription

from signalbox.broker.api_request import as_future
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

GROUPS = ("g0", "g1")
SETTINGS = GroupSettings(initial_rebalance_delay_ms=500, max_size=4)
REJECTIONS = (Error.NOT_ENOUGH_REPLICAS, Error.KAFKA_STORAGE_ERROR)

# State transitions of a group within one generation.
AFTER_SAME = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: set(),
    GroupState.COMPLETING_REBALANCE: {GroupState.STABLE, GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.PREPARING_REBALANCE},
}

STEP = st.tuples(
    st.sampled_from(
        ["everybody"] * 6
        + ["time"] * 3
        + ["join", "sync", "heartbeat", "commit", "commit", "leave", "long time", "hold", "release"]
        + ["reject", "accept", "fail over", "delete topic"]
    ),
    st.integers(min_value=0, max_value=5),
    st.integers(min_value=0, max_value=2),
)


class Member:
    """A client that acts on its responses when it is scheduled. Members 1 and 4 are static."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.group = GROUPS[number % 2]
        self.instance = f"i{number}" if number in (1, 4) else None
        self.member_id = ""
        self.joining: BenchCall | None = None
        self.syncing: BenchCall | None = None
        self.joined: Any = None
        self.generation = -1

    def read_responses(self, town: Town) -> None:
        if self.joining is not None and self.joining.answered:
            answer, self.joining = self.joining.response, None
            if answer.error_code == Error.NONE:
                self.joined, self.member_id = answer, answer.member_id
            elif answer.error_code == Error.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
            elif answer.error_code not in (Error.REBALANCE_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE):
                self.member_id = ""
        if self.syncing is not None and self.syncing.answered:
            answer, self.syncing = self.syncing.response, None
            if answer.error_code == Error.NONE:
                self.generation = self.joined.generation_id
                town.assigned(self.group, self.generation)
            else:
                self.generation = -1
            self.joined = None


class Town:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.epoch = 1
        self.members = [Member(number) for number in range(6)]
        self.requests: list[BenchCall] = []
        self.highest: dict[str, int] = defaultdict(int)
        self.commits: dict[tuple[str, int], list[tuple[int, BenchCall]]] = defaultdict(list)
        self.complaints: list[str] = []
        self.seen: dict[str, tuple[int, GroupState]] = {}
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: self.complaints.append(str(context.get("exception") or context["message"]))
        )

    def ask(self, pending: BenchCall) -> BenchCall:
        self.requests.append(pending)
        return pending

    def assigned(self, group: str, generation: int) -> None:
        if generation < self.highest[group]:
            self.complaints.append(f"{group} went back to generation {generation}")
        self.highest[group] = max(generation, self.highest[group])

    async def run(self, steps: list[tuple[str, int, int]]) -> None:
        for step, number, amount in steps:
            await getattr(self, step.replace(" ", "_"))(self.members[number], amount)
            await settle()
            for member in self.members:
                member.read_responses(self)
            self.check_groups()
            self.check_offsets()
        await self.finish()

    async def everybody(self, member: Member, amount: int) -> None:
        """Each of the first members sends the next request of a client."""
        for one in self.members[: amount + 4]:
            if one.joined is not None:
                await self.sync(one, amount)
            elif one.generation < 0:
                await self.join(one, 1)
            else:
                await self.heartbeat(one, amount)
            await settle()
            one.read_responses(self)
        await self.bench.pass_time(600)

    async def join(self, member: Member, amount: int) -> None:
        if member.joining is None and member.syncing is None:
            metadata = subscription(f"t{amount}")
            member.joining = self.ask(
                self.bench.join(
                    member.member_id,
                    group=member.group,
                    instance=member.instance,
                    protocols=(("range", metadata),),
                    version=9 if amount else 3,
                )
            )

    async def sync(self, member: Member, amount: int) -> None:
        if member.joined is not None and member.syncing is None and member.joining is None:
            given = {row.member_id: b"%d" % amount for row in member.joined.members}
            member.syncing = self.ask(
                self.bench.sync(member.joined, given, group=member.group, instance=member.instance)
            )

    async def heartbeat(self, member: Member, amount: int) -> None:
        error = self.bench.heartbeat(member.member_id, member.generation, group=member.group, instance=member.instance)
        if error == Error.REBALANCE_IN_PROGRESS:
            await self.join(member, 1)
        elif error != Error.NONE:
            member.generation = -1

    async def commit(self, member: Member, amount: int) -> None:
        key = (member.group, amount)
        value = len(self.commits[key]) + 1
        fields: dict[str, Any] = {"generation": -1}
        if member.generation >= 0:
            fields = {"generation": member.generation, "member_id": member.member_id, "instance": member.instance}
        pending = self.ask(self.bench.commit({("t", amount): value}, group=member.group, **fields))
        self.commits[key].append((value, pending))

    async def leave(self, member: Member, amount: int) -> None:
        if member.member_id and member.joining is None:
            self.ask(self.bench.leave((member.member_id, member.instance), group=member.group))
            member.member_id, member.generation, member.joined = "", -1, None

    async def time(self, member: Member, amount: int) -> None:
        await self.bench.pass_time(500 * (amount + 1))

    async def long_time(self, member: Member, amount: int) -> None:
        await self.bench.pass_time(8_000, step_ms=2_000)

    async def hold(self, member: Member, amount: int) -> None:
        self.bench.log.held = True

    async def release(self, member: Member, amount: int) -> None:
        self.bench.log.held = False
        self.bench.log.commit_all()

    async def reject(self, member: Member, amount: int) -> None:
        self.bench.log.rejection = REJECTIONS[amount % 2]

    async def accept(self, member: Member, amount: int) -> None:
        self.bench.log.rejection = None

    async def delete_topic(self, member: Member, amount: int) -> None:
        self.bench.delete_topic("old")
        self.bench.cache.apply_update_metadata(UPDATE)

    async def fail_over(self, member: Member, amount: int) -> None:
        self.epoch += 1
        self.bench.log.lose(0)
        self.bench = await self.bench.fail_over(self.epoch)
        self.seen.clear()

    def check_groups(self) -> None:
        for shard in self.bench.runtime.active_shards():
            for group in shard.groups:
                assert isinstance(group, ClassicGroup)
                waiting = sum(member.awaiting_join is not None for member in group.members.values())
                assert group.awaiting_join_count == waiting
                assert group.leader_id is None or group.leader_id in group.members
                assert (group.state is GroupState.EMPTY) <= (not group.members)
                generation, state = self.seen.get(group.group_id, (0, GroupState.EMPTY))
                assert group.generation_id > generation or group.state is state or group.state in AFTER_SAME[state]
                self.seen[group.group_id] = (group.generation_id, group.state)
                assert len(group.members) <= SETTINGS.max_size or group.state is GroupState.PREPARING_REBALANCE

    def check_offsets(self) -> None:
        for group in GROUPS:
            answer = self.bench.fetch_all(group).response.groups[0]
            if answer.error_code != Error.NONE:
                continue
            found = {row.partition_index: row.committed_offset for topic in answer.topics for row in topic.partitions}
            for (owner, partition), commits in self.commits.items():
                if owner == group:
                    assert found.get(partition, 0) in self.possible(commits)

    @staticmethod
    def possible(commits: list[tuple[int, BenchCall]]) -> set[int]:
        """The last acknowledged commit, or any later one with an unknown result."""
        acknowledged = 0
        for value, pending in commits:
            if pending.answered and pending.response.topics[0].partitions[0].error_code == Error.NONE:
                acknowledged = value
        return {acknowledged} | {value for value, _ in commits if value > acknowledged}

    async def finish(self) -> None:
        self.bench.log.rejection = None
        self.bench.log.held = False
        self.bench.log.commit_all()
        await self.bench.pass_time(400_000, step_ms=4_000)
        assert all(pending.answered for pending in self.requests)
        for shard in self.bench.runtime.active_shards():
            assert all(group.is_unused for group in shard.groups), "everybody fell silent"
        await self.fail_over(self.members[0], 0)
        self.check_offsets()
        await as_future(self.bench.coordinator.stop())
        assert self.complaints == []


@settings(max_examples=100, deadline=None)
@given(st.lists(STEP, min_size=15, max_size=60))
def test_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    async def run() -> None:
        await Town(await Bench(SETTINGS).start()).run(steps)

    asyncio.run(run())
