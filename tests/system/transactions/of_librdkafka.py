"""The loop of confluent-kafka (librdkafka)."""

from __future__ import annotations

from confluent_kafka import Consumer, Message, Producer

from tests.system.transactions.step import RECORDS_PER_TRANSACTION, LoopArguments, transformed


def _number(message: Message) -> int:
    assert message.error() is None, message.error()
    return int(message.value() or b"-1")


def main(loop: LoopArguments) -> None:
    producer = Producer({"bootstrap.servers": loop.bootstrap, "transactional.id": loop.name, "linger.ms": 0})
    producer.init_transactions(60)
    consumer = Consumer(
        {
            "bootstrap.servers": loop.bootstrap,
            "group.id": loop.name,
            "group.instance.id": loop.name,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([loop.source])
    last = -1
    while last < loop.count - 1:
        numbers = [_number(message) for message in consumer.consume(RECORDS_PER_TRANSACTION, 60)]
        producer.begin_transaction()
        for number in numbers:
            producer.produce(loop.target, transformed(number), partition=number % 2)
        producer.flush()
        loop.reached("produced", numbers[0])
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 60)
        loop.reached("offsets", numbers[0])
        producer.commit_transaction(60)
        last = numbers[-1]
    consumer.close()


if __name__ == "__main__":
    main(LoopArguments.from_command_line())
