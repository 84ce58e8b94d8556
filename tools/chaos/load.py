"""Producers: idempotent, acks=all, with unlimited retries, at a steady rate during every fault."""

from __future__ import annotations

import threading
import time
from random import Random

from tools.chaos.clients import SETTINGS, has_lost_its_brokers
from tools.chaos.ledger import Ledger, RecordId

_KEYS = 24
_PADDING = 160  # bytes after the id, so that segments roll during a run
_PACE_S = 0.01


class SteadyProducer:
    """One client in one thread. `stop` ends the flow and waits until every sent record is acknowledged."""

    def __init__(self, producer_id: int, bootstrap: str, topic: str, rate: float, ledger: Ledger) -> None:
        from confluent_kafka import Producer

        self._id = producer_id
        self._bootstrap = bootstrap
        self._topic = topic
        self._rate = rate
        self._ledger = ledger
        self._padding = Random(producer_id).randbytes(_PADDING).hex()[:_PADDING].encode()
        self._producer = Producer(
            {**SETTINGS, "bootstrap.servers": bootstrap, "client.id": f"chaos-producer-{producer_id}"}
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"producer {producer_id}", daemon=True)
        self.sent = 0

    def start(self) -> None:
        """Starts to send."""
        self._thread.start()

    def stop(self, timeout_s: float) -> int:
        """The number of records left without a delivery report (0 is expected)."""
        self._stopping.set()
        self._thread.join()
        return int(self._producer.flush(timeout_s))

    def has_lost_its_brokers(self) -> bool:
        """Whether it is its client that connects to no broker any more."""
        return has_lost_its_brokers(self._producer, self._bootstrap)

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stopping.is_set():
            due = int((time.monotonic() - started) * self._rate)
            while self.sent < due and not self._stopping.is_set():
                self._send()
            self._producer.poll(_PACE_S)

    def _send(self) -> None:
        record = RecordId(self._id, self.sent)
        try:
            self._producer.produce(
                self._topic,
                record.encode() + self._padding,
                b"key-%d" % (self.sent % _KEYS),
                on_delivery=self._ledger.reported(record),
            )
        except BufferError:
            self._producer.poll(0.1)
            return
        self.sent += 1
