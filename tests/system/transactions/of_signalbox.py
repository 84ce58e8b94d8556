"""The loop of Signalbox's own client."""

from __future__ import annotations

import asyncio

from signalbox.client import AdminClient, ConsumerSettings, GroupConsumer, Producer, ProducerSettings, TopicPartition
from tests.system.transactions.step import RECORDS_PER_TRANSACTION, LoopArguments, transformed

_COMMITTED = ConsumerSettings(auto_offset_reset="earliest", isolation_level="read_committed")


async def main(loop: LoopArguments) -> None:
    consumer = GroupConsumer.of(
        loop.bootstrap,
        loop.name,
        group_instance_id=loop.name,
        session_timeout_ms=6_000,
        enable_auto_commit=False,
        fetch=_COMMITTED,
    )
    settings = ProducerSettings(transactional_id=loop.name)
    async with AdminClient.of(loop.bootstrap) as admin, consumer, Producer(admin.client, settings) as producer:
        await producer.init_transactions()
        consumer.subscribe([loop.source])
        last = -1
        while last < loop.count - 1:
            records = await consumer.poll(30_000, RECORDS_PER_TRANSACTION)
            if not records:
                continue
            numbers = [int(record.value or b"-1") for record in records]
            async with producer.transaction():
                for number in numbers:
                    await producer.send(loop.target, transformed(number), partition=number % 2)
                await producer.flush()
                loop.reached("produced", numbers[0])
                offsets = {TopicPartition(loop.source, 0): records[-1].offset + 1}
                await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                loop.reached("offsets", numbers[0])
            last = numbers[-1]


if __name__ == "__main__":
    asyncio.run(main(LoopArguments.from_command_line()))
