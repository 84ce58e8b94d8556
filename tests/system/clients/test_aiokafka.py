"""aiokafka, unmodified: producer, consumer groups with rebalance, admin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.system.conftest import MakeTopic


async def come_true(ask: Callable[[], Awaitable[Any]], what: str, timeout_s: float = 30) -> None:
    """Calls `ask` until its result is true; AssertionError after `timeout_s`."""
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                if await ask():
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not within {timeout_s:.0f} s: {what}") from None


async def _round_trip(bootstrap: str, topic: str, compression: str | None) -> list[int]:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, compression_type=compression
    ) as producer:
        sent = [await producer.send(topic, str(number).encode()) for number in range(1_000)]
        await asyncio.gather(*sent)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    async with consumer:
        consumer.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
        found: list[int] = []
        while len(found) < 1_000:
            for records in (await consumer.getmany(timeout_ms=2_000)).values():
                found.extend(int(record.value) for record in records)
    return found


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
def test_an_idempotent_producer_and_a_reader(
    kafka_bootstrap: str, make_topic: MakeTopic, compression: str | None
) -> None:
    found = asyncio.run(asyncio.wait_for(_round_trip(kafka_bootstrap, make_topic(2), compression), 30))
    assert sorted(found) == list(range(1_000))


def _member(bootstrap: str, topic: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=f"aiokafka-{topic}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=300,
        session_timeout_ms=6_000,
    )


async def _group(bootstrap: str, topic: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for number in range(400):
            await producer.send(topic, str(number).encode(), partition=number % 4)
        await producer.flush()
    values: list[int] = []

    async def take(consumer: AIOKafkaConsumer) -> None:
        for records in (await consumer.getmany(timeout_ms=100)).values():
            values.extend(int(record.value) for record in records)

    async with _member(bootstrap, topic) as first:

        async def all_read() -> bool:
            await take(first)
            return set(values) == set(range(400))

        await come_true(all_read, "all records for the only member")
        await first.commit()
        async with _member(bootstrap, topic) as second:

            async def shared() -> bool:
                await asyncio.gather(take(first), take(second))
                return len(first.assignment()) == len(second.assignment()) == 2

            await come_true(shared, "two partitions each")
            assert first.assignment().isdisjoint(second.assignment())

        async def alone() -> bool:
            await take(first)
            return len(first.assignment()) == 4

        await come_true(alone, "all partitions for who stayed")
        committed = [await first.committed(TopicPartition(topic, part)) for part in range(4)]
    assert committed == [100] * 4
    assert len(values) == 400, "nothing was read twice"


def test_a_group_rebalances_when_members_come_and_go(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    asyncio.run(asyncio.wait_for(_group(kafka_bootstrap, make_topic(4)), 90))


async def _admin(bootstrap: str, name: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 3, 3)])

        async def listed() -> bool:
            return name in await admin.list_topics()

        await come_true(listed, "the topic in the list")
        described = (await admin.describe_topics([name]))[0]
        assert len(described["partitions"]) == 3
        assert len((await admin.describe_cluster())["brokers"]) == 3
        await admin.delete_topics([name])

        async def gone() -> bool:
            return name not in await admin.list_topics()

        await come_true(gone, "the topic's end")
    finally:
        await admin.close()


def test_admin_creates_describes_and_deletes(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    name = make_topic() + "-by-aiokafka"
    asyncio.run(asyncio.wait_for(_admin(kafka_bootstrap, name), 60))
    assert name
