"""Our producer and group consumer as the client of a drill: `python -m bench.misroute.our_client BOOTSTRAP TOPIC`.

It sends a record to each of three partitions every ten milliseconds, between the lines `go` and `stop` that it reads,
and ends with its input. What it writes, times in nanoseconds of the monotonic clock:

    ready                             the consumer has its partitions
    a <partition> <number> <sent> <acknowledged>
    f <partition> <number> <reason>   a record has failed
    c <partition> <number>            a record was consumed
    end                               what was sent is acknowledged, and consumed unless that takes too long
"""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio import Future
from contextlib import suppress

from signalbox.client import (
    ClientSettings,
    ClusterClient,
    GroupConsumer,
    GroupConsumerSettings,
    Producer,
    ProducerSettings,
    RecordMetadata,
)

PARTITIONS = 3
INTERVAL_S = 0.01
_VALUE_BYTES = 100
_CATCH_UP_S = 20.0


def write(*fields: object) -> None:
    sys.stdout.write(" ".join(map(str, fields)) + "\n")
    sys.stdout.flush()


class LoadClient:
    """`complete` is set while every acknowledged record is consumed, and the other way round."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self.running = asyncio.Event()
        self.ended = False
        self.complete = asyncio.Event()
        self._missing: set[tuple[int, int]] = set()

    async def send_to(self, partition: int) -> None:
        """Sends at a steady rate; a delay is not made up for."""
        loop = asyncio.get_running_loop()
        number, due = 0, loop.time()
        while not self.ended:
            await self.running.wait()
            await self._send(partition, number)
            number, due = number + 1, max(due + INTERVAL_S, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _send(self, partition: int, number: int) -> None:
        value = f"{partition} {number}".encode().ljust(_VALUE_BYTES)
        sent_ns = time.monotonic_ns()

        def settled(done: Future[RecordMetadata]) -> None:
            if done.exception() is None:
                write("a", partition, number, sent_ns, time.monotonic_ns())
                self._toggle(partition, number)
            else:
                write("f", partition, number, done.exception())

        (await self._producer.send(self._topic, value, partition=partition)).add_done_callback(settled)

    async def consume(self, consumer: GroupConsumer) -> None:
        consumer.subscribe([self._topic])
        while len(consumer.assignment) < PARTITIONS:
            await consumer.poll(100)
        write("ready")
        while True:
            for record in await consumer.poll(1_000):
                partition, number = map(int, (record.value or b"").split())
                write("c", partition, number)
                self._toggle(partition, number)

    def _toggle(self, partition: int, number: int) -> None:
        """A record is acknowledged or consumed, whichever comes first, and then the other."""
        self._missing ^= {(partition, number)}
        if self._missing:
            self.complete.clear()
        else:
            self.complete.set()

    async def execute(self) -> None:
        """Reads `go` and `stop`; returns at the end of the input, when every record is settled."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "go":
                self.running.set()
            else:
                self.running.clear()
        self.ended = True
        await self._producer.flush()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CATCH_UP_S):
                await self.complete.wait()
        write("end")


async def run(bootstrap: str, topic: str) -> None:
    settings = ClientSettings.of(bootstrap, request_timeout_ms=2_000)
    group = GroupConsumerSettings(group_id=f"{topic}-group")
    async with (
        ClusterClient(settings) as client,
        ClusterClient(settings) as group_client,
        Producer(client, ProducerSettings(linger_ms=0, delivery_timeout_ms=5_000)) as producer,
        GroupConsumer(group_client, group) as consumer,
    ):
        load = LoadClient(producer, topic)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(load.send_to(partition)) for partition in range(PARTITIONS)]
        tasks.append(loop.create_task(load.consume(consumer)))
        commands = loop.create_task(load.execute())
        await asyncio.wait((*tasks, commands), return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done() and not load.ended:
                task.result()
            task.cancel()
        await commands
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
