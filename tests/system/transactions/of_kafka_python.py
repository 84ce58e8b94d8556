"""The loop of kafka-python."""

from __future__ import annotations

from contextlib import closing

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.system.transactions.step import RECORDS_PER_TRANSACTION, LoopArguments, transformed


def main(loop: LoopArguments) -> None:
    with closing(KafkaProducer(bootstrap_servers=loop.bootstrap, transactional_id=loop.name)) as producer:
        producer.init_transactions()
        consumer = KafkaConsumer(
            loop.source,
            bootstrap_servers=loop.bootstrap,
            group_id=loop.name,
            group_instance_id=loop.name,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6_000,
            heartbeat_interval_ms=1_000,
        )
        last = -1
        while last < loop.count - 1:
            fetched = consumer.poll(timeout_ms=30_000, max_records=RECORDS_PER_TRANSACTION)
            numbers = [int(record.value) for records in fetched.values() for record in records]
            if not numbers:
                continue
            producer.begin_transaction()
            for number in numbers:
                producer.send(loop.target, transformed(number), partition=number % 2)
            producer.flush()
            loop.reached("produced", numbers[0])
            offsets = {TopicPartition(loop.source, 0): OffsetAndMetadata(numbers[-1] + 1, "", -1)}
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            loop.reached("offsets", numbers[0])
            producer.commit_transaction()
            last = numbers[-1]
        consumer.close()


if __name__ == "__main__":
    main(LoopArguments.from_command_line())
