"""librdkafka through confluent-kafka."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tests.system.interop_security.access import Access, Seen

_TOKEN_LIFE_S = 3600
_TELLING = (KafkaError._AUTHENTICATION, KafkaError._SSL)


class Librdkafka:
    """The token comes from a callback, as in an application."""

    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        settings = _settings(access)
        producer = Producer({**settings, "enable.idempotence": True, "acks": "all"})
        for number in range(records):
            producer.produce(topic, str(number).encode())
        assert producer.flush(20) == 0
        consumer = Consumer({**settings, "group.id": f"group-{topic}", "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        read: list[str] = []
        deadline = time.monotonic() + 20
        while len(read) < records and time.monotonic() < deadline:
            for message in consumer.consume(records, 1.0):
                if message.error() is not None:
                    raise KafkaException(message.error())
                read.append((message.value() or b"").decode())
        consumer.commit(asynchronous=False)
        consumer.close()
        return Seen(read, topic in producer.list_topics(timeout=10).topics)

    def rejection(self, access: Access, deadline_s: float) -> str:
        errors: list[KafkaError] = []
        settings: dict[str, Any] = {**_settings(access), "error_cb": errors.append}
        client = AdminClient(settings)
        deadline = time.monotonic() + deadline_s
        while time.monotonic() < deadline:
            client.poll(0.1)
            for error in errors:
                if error.code() in _TELLING or "SSL alert" in error.str():
                    return f"{error.name()}: {error.str()}"
            try:
                client.list_topics(timeout=0.3)
            except KafkaException:
                continue
            return ""
        return f"{[each.str() for each in errors]}"

    def close(self) -> None:
        return


def _settings(access: Access) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap.servers": access.servers,
        "security.protocol": access.protocol,
        "log_level": 0,
    }
    if access.uses_tls:
        settings["ssl.ca.location"] = access.ca_file
        if access.certificate_file:
            settings["ssl.certificate.location"] = access.certificate_file
            settings["ssl.key.location"] = access.key_file
    if access.mechanism == "OAUTHBEARER":
        settings["sasl.mechanism"] = access.mechanism
        settings["oauth_cb"] = lambda _: (access.token, time.time() + _TOKEN_LIFE_S)
    elif access.uses_sasl:
        settings |= {
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.user,
            "sasl.password": access.password,
        }
    return settings
