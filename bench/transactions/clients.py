"""Transactional producers in a process of their own: librdkafka by confluent-kafka, the same for both clusters.

python -m bench.transactions.clients commit BOOTSTRAP TOPIC PRODUCERS WARM_SECONDS SECONDS
python -m bench.transactions.clients fill BOOTSTRAP TOPIC

`commit` prints `warm` after its first seconds, which do not count, and its figures as a JSON line. A transaction has
100 records of 1 KB in 3 partitions; its time is that from begin_transaction until commit_transaction returns. `fill`
writes small transactions to partition 0, one in ten of them aborted.
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
import uuid

from confluent_kafka import Producer

_RECORD = b"x" * 1_000
_RECORDS, _PARTITIONS = 100, 3
_FILL_TRANSACTIONS, _FILL_RECORDS, _ABORTED = 400, 10, 10
_CALL_S = 60.0


def commit(bootstrap: str, topic: str, producers: int, warm_s: float, seconds: float) -> None:
    """`transactions` that ended within the seconds that count, their p50 and p99 in milliseconds."""
    ready = [_initialized(bootstrap) for _ in range(producers)]
    ended: list[tuple[float, float]] = []  # seconds of the clock at the end, milliseconds it took
    stop = threading.Event()

    def transact(producer: Producer) -> None:
        while not stop.is_set():
            began = time.perf_counter()
            _transaction(producer, topic, _RECORDS, _PARTITIONS)
            producer.commit_transaction(_CALL_S)
            now = time.perf_counter()
            ended.append((now, (now - began) * 1000))

    threads = [threading.Thread(target=transact, args=(producer,)) for producer in ready]
    for thread in threads:
        thread.start()
    time.sleep(warm_s)
    print("warm", flush=True)
    warm = time.perf_counter()
    time.sleep(seconds)
    end = time.perf_counter()
    counted = sorted(taken_ms for at, taken_ms in ended if warm <= at <= end)
    figures = {
        "transactions": len(counted),
        "seconds": end - warm,
        "p50_ms": statistics.median(counted),
        "p99_ms": counted[int(len(counted) * 0.99)],
    }
    print(json.dumps(figures), flush=True)
    stop.set()
    for thread in threads:
        thread.join()


def fill(bootstrap: str, topic: str) -> None:
    """Writes what is fetched."""
    producer = _initialized(bootstrap)
    print("warm", flush=True)
    for number in range(_FILL_TRANSACTIONS):
        _transaction(producer, topic, _FILL_RECORDS, 1)
        producer.flush(_CALL_S)
        if number % _ABORTED:
            producer.commit_transaction(_CALL_S)
        else:
            producer.abort_transaction(_CALL_S)
    print(json.dumps({"transactions": _FILL_TRANSACTIONS}), flush=True)


def _initialized(bootstrap: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"bench-{uuid.uuid4().hex}"})
    producer.init_transactions(_CALL_S)
    return producer


def _transaction(producer: Producer, topic: str, records: int, partitions: int) -> None:
    producer.begin_transaction()
    for number in range(records):
        producer.produce(topic, _RECORD, partition=number % partitions)
        producer.poll(0)


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(*sys.argv[2:])
    else:
        commit(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6]))
