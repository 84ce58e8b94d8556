"""Produces with confluent-kafka and reads back with a kafka-python group of two members: two independent clients."""

from __future__ import annotations

import threading
import time
from typing import Any

from signalbox.cli.demo.flights import FLIGHTS, TOPIC, Flights
from signalbox.cli.demo.stage import Stage

_READ_TIMEOUT_S = 120.0


def produce_flights(stage: Stage, flights: Flights) -> None:
    """Produces all flights with acks=all and an idempotent producer; every acknowledgement is counted."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": stage.cluster.bootstrap(),
            "enable.idempotence": True,
            "acks": "all",
            "client.id": "demo-producer",
            "linger.ms": 20,
            "queue.buffering.max.messages": 400_000,
        }
    )
    acknowledged = 0
    errors: list[str] = []

    def delivered(error: Any, message: Any) -> None:
        nonlocal acknowledged
        if error is None:
            acknowledged += 1
        else:
            errors.append(str(error))

    started = time.monotonic()
    for key, value in flights.records:
        while True:
            try:
                producer.produce(TOPIC, value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush(60)
    seconds = time.monotonic() - started
    size = sum(len(key) + len(value) for key, value in flights.records)
    stage.facts["produce"] = {"seconds": seconds, "records": acknowledged, "bytes": size}
    rate = f"{acknowledged:,} in {seconds:.1f} s ({size / seconds / 1e6:.0f} MB/s)"
    stage.check("flights acknowledged by all in-sync replicas", acknowledged == FLIGHTS and not errors, rate)


def read_back(stage: Stage, flights: Flights) -> None:
    """A group of two kafka-python members; together they must read each record exactly once."""
    times_read = [0] * FLIGHTS
    counts = [0, 0]
    wrong: list[str] = []
    lock = threading.Lock()
    values = {value: number for number, (_, value) in enumerate(flights.records)}
    done = threading.Event()

    def member(number: int) -> None:
        from kafka import KafkaConsumer

        consumer = KafkaConsumer(
            TOPIC,
            bootstrap_servers=stage.cluster.bootstrap().split(","),
            group_id="demo-readers",
            client_id=f"demo-reader-{number}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_poll_records=5_000,
            fetch_max_bytes=8_388_608,
            max_partition_fetch_bytes=4_194_304,
        )
        try:
            while not done.is_set():
                batches = consumer.poll(timeout_ms=500)
                with lock:
                    for records in batches.values():
                        for record in records:
                            row = values.get(record.value)
                            if row is None:
                                wrong.append(str(record.value[:80]))
                            else:
                                times_read[row] += 1
                        counts[number] += len(records)
                    if sum(counts) >= FLIGHTS:
                        done.set()
                if batches:
                    consumer.commit()
        finally:
            consumer.close()

    started = time.monotonic()
    members = [threading.Thread(target=member, args=(number,), daemon=True) for number in range(2)]
    for thread in members:
        thread.start()
    while not done.wait(1.0) and time.monotonic() - started < _READ_TIMEOUT_S:
        stage.console.print(f"   read {sum(counts):,} of {FLIGHTS:,}", end="\r", highlight=False)
    done.set()
    for thread in members:
        thread.join(15)
    stage.facts["read_back"] = {"seconds": time.monotonic() - started, "members": counts}
    stage.check(
        "every flight read exactly once by the group",
        times_read.count(1) == FLIGHTS and not wrong,
        f"{times_read.count(1):,}",
    )
    stage.check("both members had a share", min(counts) > 0, " + ".join(f"{count:,}" for count in counts))
