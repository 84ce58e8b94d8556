"""The loop of aiokafka."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.system.transactions.step import RECORDS_PER_TRANSACTION, LoopArguments, transformed


async def main(loop: LoopArguments) -> None:
    async with (
        AIOKafkaProducer(bootstrap_servers=loop.bootstrap, transactional_id=loop.name) as producer,
        AIOKafkaConsumer(
            loop.source,
            bootstrap_servers=loop.bootstrap,
            group_id=loop.name,
            group_instance_id=loop.name,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=1_000,
        ) as consumer,
    ):
        last = -1
        while last < loop.count - 1:
            fetched = await consumer.getmany(timeout_ms=30_000, max_records=RECORDS_PER_TRANSACTION)
            numbers = [int(record.value) for records in fetched.values() for record in records]
            async with producer.transaction():
                for number in numbers:
                    await producer.send_and_wait(loop.target, transformed(number), partition=number % 2)
                loop.reached("produced", numbers[0])
                offsets = {TopicPartition(loop.source, 0): numbers[-1] + 1}
                await producer.send_offsets_to_transaction(offsets, loop.name)
                loop.reached("offsets", numbers[0])
            last = numbers[-1]


if __name__ == "__main__":
    asyncio.run(main(LoopArguments.from_command_line()))
