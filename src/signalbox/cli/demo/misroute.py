"""Two brokers' addresses are swapped under a producing client: it is rejected with 129, rebootstraps, and loses
nothing.

The client is Signalbox's own (idempotent, KIP-1242 identity on every connection); it has the brokers' addresses on the
listener ROUTED, which lead through the switchboard. Every record has a number; afterwards each must be in the topic
exactly once, in order within its partition.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from signalbox.cli.demo.stage import Stage, counted
from signalbox.client.admin_apis.topic_admin import NewTopic, TopicAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.client.producer import Producer

TOPIC = "rerouted"
_RECORDS = 3_000
_SWAP_AT, _HEAL_AFTER_S = 1_000, 3.0
_SWAPPED_AT_MOST_S, _POLL_S = 30.0, 0.05
_MISROUTED = "signalbox_network_socketserver_misroutedconnections_total"


def swap_addresses(stage: Stage) -> None:
    """Swap brokers 1 and 2, continue to produce, swap back, count the records."""
    before = sum(stage.metric(node_id, _MISROUTED) for node_id in stage.cluster.brokers)
    rebootstraps, acknowledged, swapped_s = asyncio.run(_produce(stage))
    rejected = sum(stage.metric(node_id, _MISROUTED) for node_id in stage.cluster.brokers) - before
    stage.check(
        "the swapped routes were rejected with REBOOTSTRAP_REQUIRED (129)", rejected > 0, counted(int(rejected), "time")
    )
    stage.check("the client bootstrapped again by itself", rebootstraps > 0, counted(rebootstraps, "time"))
    stage.check("every record was acknowledged", acknowledged == _RECORDS, f"{acknowledged:,}")
    per_partition = read_numbers(stage, TOPIC, _RECORDS)
    numbers = [number for numbers_of_partition in per_partition.values() for number in numbers_of_partition]
    once = len(numbers) == len(set(numbers)) == _RECORDS
    ordered = all(
        numbers_of_partition == sorted(numbers_of_partition) for numbers_of_partition in per_partition.values()
    )
    stage.check("nothing lost, nothing twice, nothing out of order", once and ordered, f"{len(numbers):,} records")
    stage.facts["misroute"] = {
        "rejected": rejected,
        "rebootstraps": rebootstraps,
        "records": len(numbers),
        "swapped_s": swapped_s,
        "addresses": {f"broker-{node_id}": stage.cluster.brokers[node_id].address("ROUTED") for node_id in (1, 2)},
    }


async def _produce(stage: Stage) -> tuple[int, int, float]:
    """Rebootstraps of the client, acknowledged records, seconds for which the addresses were swapped."""
    settings = ClientSettings(
        bootstrap=parse_bootstrap_servers(stage.cluster.bootstrap("ROUTED")), client_id="demo-rerouted"
    )
    async with ClusterClient(settings) as client:
        created = await TopicAdmin(client).create_topics([NewTopic(name=TOPIC, num_partitions=3, replication_factor=3)])
        created[TOPIC].raise_for_error()
        healing: asyncio.Task[float] | None = None
        swapped_s = 0.0
        acknowledged = []
        async with Producer(client) as producer:
            for number in range(_RECORDS):
                if number == _SWAP_AT:
                    await producer.flush()
                    stage.say("swapping the addresses of brokers 1 and 2")
                    stage.switchboard.swap("broker-1", "broker-2")
                    healing = asyncio.get_running_loop().create_task(_heal(stage, client))
                acknowledged.append(await producer.send(TOPIC, str(number).encode(), str(number % 97).encode()))
                if number % 100 == 0:
                    await asyncio.sleep(0)
            await producer.flush()
        if healing is not None:
            swapped_s = await healing
        results = await asyncio.gather(*acknowledged, return_exceptions=True)
        return client.rebootstraps, sum(not isinstance(result, BaseException) for result in results), swapped_s


async def _heal(stage: Stage, client: ClusterClient) -> float:
    """Swap back some time after the client has bootstrapped again, at the latest after `_SWAPPED_AT_MOST_S`; the
    seconds since the swap."""
    started = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(_SWAPPED_AT_MOST_S):
            while client.rebootstraps == 0:  # noqa: ASYNC110 - the count has no event
                await asyncio.sleep(_POLL_S)
    await asyncio.sleep(_HEAL_AFTER_S)
    stage.say("swapping them back")
    await asyncio.to_thread(stage.switchboard.restore, "broker-1", "broker-2")
    return time.monotonic() - started


def read_numbers(stage: Stage, topic: str, expected: int) -> dict[int, list[int]]:
    """The numbers in a topic by partition, read by confluent-kafka from the beginning to the end."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": stage.cluster.bootstrap(),
            "group.id": f"demo-{topic}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.queue.backoff.ms": 5,
            "client.id": "demo-verifier",
        }
    )
    numbers: dict[int, list[int]] = {}
    try:
        partitions = consumer.list_topics(topic, timeout=15).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        ended: set[int] = set()
        while len(ended) < len(partitions):
            for message in consumer.consume(5_000, 5.0):
                error, partition, value = message.error(), message.partition(), message.value()
                assert partition is not None
                if error is not None:
                    if error.name() == "_PARTITION_EOF":
                        ended.add(partition)
                elif value is not None:
                    numbers.setdefault(partition, []).append(int(value))
    finally:
        consumer.close()
    return numbers
