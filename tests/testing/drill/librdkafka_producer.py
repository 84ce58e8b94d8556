"""librdkafka's producer as the client of a drill."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, Producer

from signalbox.testing.drill.drill_client import TOPIC
from signalbox.testing.kafka_cluster.client_config import ClientConfig


class LibrdkafkaProducer:
    """Idempotent, acks=all; delivery reports are polled for in a thread."""

    def __init__(self, config: ClientConfig) -> None:
        self._producer = Producer({**config.librdkafka(), "enable.idempotence": True, "log_level": 0})
        self._ended = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="librdkafka", daemon=True)
        self._poller.start()

    def send(self, partition: int, value: bytes) -> Future[Any]:
        future: Future[Any] = Future()

        def report(error: object, _: object) -> None:
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(RuntimeError(str(error)))

        self._producer.produce(TOPIC, value, partition=partition, on_delivery=report)
        return future

    def close(self) -> None:
        self._ended.set()
        self._poller.join()
        self._producer.purge()
        self._producer.flush(1)

    def _poll(self) -> None:
        while not self._ended.is_set():
            try:
                self._producer.poll(0.05)
            except KafkaException:
                return  # a fatal error: this producer cannot go on
