"""Fills a topic that will be compacted: librdkafka by confluent-kafka, the same for both clusters.

python -m bench.compaction.clients BOOTSTRAP TOPIC RECORD_BYTES MEGABYTES

Each key has four values on average, in random order. Prints `warm` first and the number of records as JSON at the end.
"""

from __future__ import annotations

import json
import random
import sys

from confluent_kafka import Producer

_VALUES_OF_A_KEY = 4
_FLUSH_S = 120.0


def fill(bootstrap: str, topic: str, record_bytes: int, megabytes: int) -> None:
    """Records of `record_bytes` with their keys, with acks=all, in partition 0."""
    producer, dice = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20}), random.Random(1)
    records = megabytes * 1_000_000 // record_bytes
    keys = records // _VALUES_OF_A_KEY
    failed = 0

    def on_delivery(error: object, message: object) -> None:
        nonlocal failed
        failed += error is not None

    print("warm", flush=True)
    for _ in range(records):
        key = b"%09d" % dice.randrange(keys)
        while True:
            try:
                producer.produce(topic, bytes(record_bytes - len(key)), key, partition=0, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(_FLUSH_S) or failed:
        raise SystemExit(f"{failed} records failed")
    print(json.dumps({"records": records}), flush=True)


if __name__ == "__main__":
    fill(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
