"""Consume with kafka-python, as a member of a group."""

import sys

from kafka import KafkaConsumer

bootstrap = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:19092"
consumer = KafkaConsumer(
    "greetings",
    bootstrap_servers=bootstrap,
    group_id="readers",
    auto_offset_reset="earliest",
    consumer_timeout_ms=5_000,
)
for record in consumer:
    print(record.partition, record.offset, record.key, record.value)
consumer.close()
