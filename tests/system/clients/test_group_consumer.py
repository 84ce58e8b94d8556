"""The group consumer of `signalbox.client` in one group with members of other clients: the leader assigns for all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from confluent_kafka import Consumer

from signalbox.common.ids import TopicPartition
from tests.client.group_consumer.members import Group, Member, with_group
from tests.system.clients.test_confluent_kafka import reader
from tests.system.conftest import MakeTopic
from tests.system.provision import java, java_class
from tests.waiting import until_true

NEEDS = (partial(java_class, "Clients.java", "clients"),)
PARTITIONS = 6
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class LibrdkafkaMember:
    """A confluent-kafka consumer that polls in a thread, so that the event loop of our members goes on."""

    def __init__(self, bootstrap: str, group_id: str, topic: str, strategy: str) -> None:
        self.consumer: Consumer = reader(
            bootstrap,
            group_id,
            **{
                "partition.assignment.strategy": strategy,
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 200,
                "enable.auto.commit": True,
            },
        )
        self.consumer.subscribe([topic])
        self.values: list[bytes] = []
        self._task = asyncio.create_task(self._poll())
        self._stopping = False

    async def _poll(self) -> None:
        while not self._stopping:
            for message in await asyncio.to_thread(self.consumer.consume, 100, 0.1):
                assert message.error() is None, message.error()
                self.values.append(message.value() or b"")

    @property
    def has(self) -> set[int]:
        return {row.partition for row in self.consumer.assignment()}

    async def leave(self) -> None:
        self._stopping = True
        await self._task
        await asyncio.to_thread(self.consumer.close)


class JavaMember:
    """A member of the Java client 4.4.0 in a JVM of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.has: set[int] = set()
        self.values: list[bytes] = []
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def started(cls, bootstrap: str, group_id: str, topic: str, strategy: str) -> JavaMember:
        class_path = java_class("Clients.java", "clients")
        arguments = [*java(_QUIET), "-cp", class_path, "Clients", "member", bootstrap, topic, group_id]
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*arguments, _ASSIGNORS[strategy], stdin=pipe, stdout=pipe))

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            name, *words = line.decode().split()
            if name == "assigned":
                self.has = set(map(int, words))
            elif name == "value":
                self.values += [word.encode() for word in words]

    async def leave(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"stop\n")
        await self._task
        assert await self._process.wait() == 0


def partitions_of(member: Member) -> set[int]:
    return {row.partition for row in member.consumer.assignment}


def run_mixed(bootstrap: str, topic: str, test: Callable[[Group], Awaitable[None]]) -> None:
    with_group(bootstrap, f"mixed-{topic}", test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("ours_leads", [True, False])
def test_members_of_two_clients_share_a_group(
    kafka_bootstrap: str, make_topic: MakeTopic, strategy: str, ours_leads: bool
) -> None:
    """Two of ours and two of librdkafka; the first member of a group leads it. Every record is read."""
    topic = make_topic(PARTITIONS)

    async def test(group: Group) -> None:
        fields = {"partition_assignment_strategy": (strategy,), "heartbeat_interval_ms": 200}
        ours = [await group.member(**fields) for _ in range(2)]
        theirs: list[LibrdkafkaMember] = []
        try:
            for _ in range(2):
                if not ours_leads:
                    theirs.append(LibrdkafkaMember(kafka_bootstrap, group.group_id, topic, strategy))
                    await until_true(lambda: bool(theirs[-1].has))
                member = ours[len([one for one in ours if one.consumer.subscription])]
                member.start(topic)
                await until_true(lambda member=member: bool(partitions_of(member)))  # type: ignore[misc]
                if ours_leads:
                    theirs.append(LibrdkafkaMember(kafka_bootstrap, group.group_id, topic, strategy))
                    await until_true(lambda: bool(theirs[-1].has))
            everyone: list[Member | LibrdkafkaMember] = [*ours, *theirs]

            def shared() -> bool:
                owned = [*map(partitions_of, ours), *(one.has for one in theirs)]
                return sorted(map(len, owned)) == [1, 1, 2, 2] and set().union(*owned) == set(range(PARTITIONS))

            await until_true(shared)
            await group.produce(topic, [b"%d" % number for number in range(600)], PARTITIONS)
            expected = {b"%d" % number for number in range(600)}
            await until_true(lambda: {value for one in everyone for value in one.values} == expected)
            await theirs[0].leave()
            await until_true(lambda: sum(map(len, map(partitions_of, ours))) + len(theirs[1].has) == PARTITIONS)
            assert [one.failure for one in ours] == [None, None]
        finally:
            for one in theirs[1:]:
                await one.leave()

    run_mixed(kafka_bootstrap, topic, test)


@pytest.mark.spec("R10")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("ours_leads", [True, False])
def test_members_of_the_java_client_share_a_group(
    kafka_bootstrap: str, make_topic: MakeTopic, strategy: str, ours_leads: bool
) -> None:
    """The first member of the group leads it. Every record is read, and the one that stays has all partitions."""
    topic = make_topic(PARTITIONS)

    async def test(group: Group) -> None:
        ours = await group.member(partition_assignment_strategy=(strategy,), heartbeat_interval_ms=200)
        if ours_leads:
            ours.start(topic)
            await until_true(lambda: len(partitions_of(ours)) == PARTITIONS)
        theirs = await JavaMember.started(kafka_bootstrap, group.group_id, topic, strategy)
        try:
            await until_true(lambda: bool(theirs.has))
            if not ours_leads:
                ours.start(topic)
            await until_true(lambda: len(partitions_of(ours)) == len(theirs.has) == PARTITIONS // 2)
            assert partitions_of(ours) | theirs.has == set(range(PARTITIONS))
            await group.produce(topic, [b"%d" % number for number in range(300)], PARTITIONS)
            expected = {b"%d" % number for number in range(300)}
            await until_true(lambda: {*ours.values, *theirs.values} == expected)
            assert len(ours.values) + len(theirs.values) == len(expected), "each record once"
        finally:
            await theirs.leave()
        await until_true(lambda: len(partitions_of(ours)) == PARTITIONS)
        assert ours.failure is None

    run_mixed(kafka_bootstrap, topic, test)


@pytest.mark.spec("R10", "D8")
def test_one_client_goes_on_where_the_other_committed(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(1)

    async def test(group: Group) -> None:
        await group.produce(topic, [b"%d" % number for number in range(10)], 1)
        first = await group.member()
        first.start(topic)
        await until_true(lambda: len(first.values) == 10)
        await first.leave()
        await group.produce(topic, [b"new"], 1)
        other = LibrdkafkaMember(kafka_bootstrap, group.group_id, topic, "range")
        await until_true(lambda: bool(other.values))
        await other.leave()
        assert other.values == [b"new"]
        again = await group.member()
        again.start(topic)
        await until_true(lambda: TopicPartition(topic, 0) in again.consumer.assignment)
        await group.produce(topic, [b"newer"], 1)
        await until_true(lambda: again.values == [b"newer"])

    run_mixed(kafka_bootstrap, topic, test)
