"""The topic of alerts: created if it does not exist, written with acks=all.

A batch of the audit run ends after its alerts are acknowledged, so that none is lost; a batch that is repeated after a
crash writes them again, under the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.pipeline.alerts.rules import Alert
from signalbox.pipeline.client.login_tokens import with_token_callback

TIMEOUT_SECONDS = 30.0


class AlertError(RuntimeError):
    """The topic of alerts cannot be created or written."""


class AlertTopic:
    """`settings` are librdkafka's (`client/librdkafka_settings.py`)."""

    def __init__(self, bootstrap_servers: str, settings: Mapping[str, str], topic: str) -> None:
        self._topic = topic
        self._settings: dict[str, Any] = with_token_callback(
            {"client.id": "signalbox-pipeline-alerts", **settings, "bootstrap.servers": bootstrap_servers}
        )
        self._settings["log_level"] = 0
        self._producer = Producer({**self._settings, "acks": "all", "enable.idempotence": True, "linger.ms": 0})

    def create(self) -> None:
        """Creates the topic with one partition, if it does not exist. Raises AlertError.

        Only a missing topic needs the right to create it: brokers reject a client without that right even if the topic
        exists.
        """
        admin = AdminClient(self._settings)
        if self._exists(admin):
            return
        (created,) = admin.create_topics([NewTopic(self._topic, 1)], operation_timeout=TIMEOUT_SECONDS).values()
        try:
            created.result(TIMEOUT_SECONDS)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise AlertError(f"topic {self._topic} cannot be created: {fault.args[0].str()}") from fault

    def _exists(self, admin: AdminClient) -> bool:
        """False also if the brokers do not show the topic to this client: then its creation reports why."""
        (described,) = admin.describe_topics(TopicCollection([self._topic]), request_timeout=TIMEOUT_SECONDS).values()
        try:
            described.result(TIMEOUT_SECONDS)
        except KafkaException:
            return False
        return True

    def write(self, alerts: Iterable[Alert]) -> int:
        """Writes the alerts and waits until all are acknowledged; returns their number. Raises AlertError."""
        failures: list[KafkaError] = []
        written = 0
        for alert in alerts:
            key, value = alert.encoded()
            # The record has the time of the alert: retention would delete one with the time of an old event at once.
            self._producer.produce(
                self._topic,
                key=key,
                value=value,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
            written += 1
        unsent = self._producer.flush(TIMEOUT_SECONDS)
        if failures or unsent:
            reason = failures[0].str() if failures else f"no acknowledgement in {TIMEOUT_SECONDS:.0f} s"
            raise AlertError(f"alerts cannot be written to topic {self._topic}: {reason}")
        return written
