"""Produce with confluent-kafka: idempotent, acknowledged by all in-sync replicas."""

import sys

from confluent_kafka import Producer

bootstrap = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:19092"
producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all"})
for language, greeting in (("en", "hello"), ("de", "hallo"), ("fr", "bonjour")):
    producer.produce(
        "greetings",
        key=language.encode(),
        value=greeting.encode(),
        on_delivery=lambda error, message: print(
            error or f"{message.topic()}-{message.partition()}@{message.offset()}"
        ),
    )
producer.flush(10)
