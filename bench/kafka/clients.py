"""The bulk clients, each in a process of its own: librdkafka by confluent-kafka, the same for both clusters.

python -m bench.kafka.clients produce|endtoend BOOTSTRAP TOPIC WARM_SECONDS SECONDS

Each prints `warm` after its first seconds, which do not count, and its figures as a JSON line at the end of the others.
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time

from confluent_kafka import Consumer, Producer, TopicPartition

_RECORD = b"x" * 1_000
_RATE = 1_000
_PARTITIONS = 6


def produce(bootstrap: str, topic: str, warm_s: float, seconds: float) -> None:
    """1 KB records with acks=all at the highest rate of one producer with default settings. `bytes`: acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    acknowledged, failed, sent = 0, 0, 0

    def on_delivery(error: object, message: object) -> None:
        nonlocal acknowledged, failed
        acknowledged += error is None
        failed += error is not None

    def send_for(seconds: float) -> float:
        nonlocal sent
        started = time.monotonic()
        while (taken := time.monotonic() - started) < seconds:
            for _ in range(200):
                try:
                    producer.produce(topic, _RECORD, partition=sent % _PARTITIONS, on_delivery=on_delivery)
                    sent += 1
                except BufferError:
                    producer.poll(0.005)
            producer.poll(0)
        return taken

    send_for(warm_s)
    before = acknowledged
    print("warm", flush=True)
    taken = send_for(seconds)
    print(json.dumps({"bytes": (acknowledged - before) * len(_RECORD), "seconds": taken}), flush=True)
    if failed:
        raise SystemExit(f"{failed} records failed")
    producer.purge()  # what is queued beyond the measurement
    producer.flush(10)


def end_to_end(bootstrap: str, topic: str, warm_s: float, seconds: float) -> None:
    """1,000 records per second with acks=all; the time from `produce` to the consumer, in milliseconds."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "fetch.queue.backoff.ms": 5, "enable.auto.commit": False}
    )
    ends = [TopicPartition(topic, index, -1) for index in range(_PARTITIONS)]
    consumer.assign(ends)
    latencies: list[float] = []
    stop = threading.Event()

    def consume() -> None:
        while not stop.is_set():
            message = consumer.poll(0.2)
            value = None if message is None or message.error() else message.value()
            if value is not None:
                latencies.append((time.monotonic() - float(value[:20])) * 1000)

    reader = threading.Thread(target=consume)
    reader.start()
    time.sleep(1)
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    due = started = time.monotonic()
    count = 0
    while due - started < warm_s + seconds:
        producer.produce(topic, f"{time.monotonic():<20.9f}".encode() + _RECORD[20:], partition=count % _PARTITIONS)
        producer.poll(0)
        count += 1
        due += 1 / _RATE
        time.sleep(max(0.0, due - time.monotonic()))
    producer.flush(30)
    time.sleep(1)
    stop.set()
    reader.join()
    consumer.close()
    if len(latencies) < count * 0.9:
        raise SystemExit(f"{len(latencies)} of {count} records came back")
    warm = sorted(latencies[int(warm_s * _RATE) :])
    print("warm", flush=True)
    print(json.dumps({"p50_ms": statistics.median(warm), "p99_ms": warm[int(len(warm) * 0.99)]}), flush=True)


if __name__ == "__main__":
    _, what, bootstrap, topic, warm_s, seconds = sys.argv
    {"produce": produce, "endtoend": end_to_end}[what](bootstrap, topic, float(warm_s), float(seconds))
