"""JSON records of 1 KB: a number, a few short fields, and a text that does not compress to nothing."""

from __future__ import annotations

import random

from confluent_kafka import Producer

SCHEMA = "number BIGINT, name STRING, price DOUBLE, shipped BOOLEAN, note STRING"
PARTITIONS = 4
RECORD_BYTES = 1_000
_NOTES = 500
_FLUSH_S = 120.0


def record(number: int, note: str) -> bytes:
    """The value of one record, RECORD_BYTES long."""
    head = f'{{"number":{number},"name":"shop-{number % 977}","price":{number % 9973 / 100},"shipped":'
    head += f'{"true" if number % 3 else "false"},"note":"'
    return f'{head}{note[: RECORD_BYTES - len(head) - 2]}"}}'.encode()


def notes() -> list[str]:
    """Texts for the records; the same in every run."""
    source = random.Random(16)
    return [f"{source.getrandbits(RECORD_BYTES * 4):0{RECORD_BYTES}x}" for _ in range(_NOTES)]


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Writes `count` records with acks=all, in turn to all partitions. RuntimeError: not all are acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20, "batch.size": 500_000})
    failed: list[str] = []
    texts = notes()
    for number in range(count):
        value = record(number, texts[number % _NOTES])
        while True:
            try:
                producer.produce(
                    topic,
                    value,
                    partition=number % PARTITIONS,
                    on_delivery=lambda error, _: failed.append(error.str()) if error else None,
                )
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1_000 == 0:
            producer.poll(0)
    unsent = producer.flush(_FLUSH_S)
    if failed or unsent:
        raise RuntimeError(f"{len(failed)} records failed ({failed[:1]}), {unsent} are not acknowledged")
