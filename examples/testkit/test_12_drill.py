"""The drill for a client of your own: an adapter of two methods, and a report. Here two of the twelve stories with
confluent-kafka: it gets over swapped addresses, and writes into another cluster that took over a broker's address."""

import threading
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, Producer

from signalbox.testing.drill import STORIES, run_drill, text_report
from signalbox.testing.kafka_cluster.client_config import ClientConfig


class MyClient:
    def __init__(self, config: ClientConfig) -> None:
        self._producer = Producer({**config.librdkafka(), "enable.idempotence": True, "log_level": 0})
        self._ended = threading.Event()
        self._poller = threading.Thread(target=self._poll, daemon=True)
        self._poller.start()

    def send(self, partition: int, value: bytes) -> Future[Any]:
        future: Future[Any] = Future()

        def report(error: Any, _: Any) -> None:
            future.set_exception(KafkaException(error)) if error else future.set_result(None)

        self._producer.produce("drill", value, partition=partition, on_delivery=report)
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
                return


def test_drill() -> None:
    stories = {story.number: story for story in STORIES}
    [swapped] = run_drill(MyClient, [stories[4]], window_s=3, recovery_s=60)
    [moved] = run_drill(MyClient, [stories[3]], window_s=3, recovery_s=3)
    assert swapped.passed, text_report([moved, swapped])
    assert not moved.passed
    assert moved.misplaced > 0
