"""kafka-python."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.system.interop_security.access import Access, Seen
from tests.system.interop_security.log_lines import LogLines


class _Token(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token


class KafkaPython:
    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        settings = _settings(access)
        producer = KafkaProducer(**settings, enable_idempotence=True, acks="all")
        sent = [producer.send(topic, str(number).encode()) for number in range(records)]
        for future in sent:
            future.get(20)
        producer.close()
        consumer = KafkaConsumer(topic, **settings, group_id=f"group-{topic}", auto_offset_reset="earliest")
        read: list[str] = []
        deadline = time.monotonic() + 20
        while len(read) < records and time.monotonic() < deadline:
            for batch in consumer.poll(timeout_ms=1_000).values():
                read += [record.value.decode() for record in batch]
        consumer.commit()
        listed = topic in consumer.topics()
        consumer.close()
        return Seen(read, listed)

    def rejection(self, access: Access, deadline_s: float) -> str:
        """It retries until its bootstrap timeout, and reports the reason only in its log."""
        patience_ms = int(deadline_s * 1000 / 6)
        with LogLines("kafka") as log:
            try:
                admin = KafkaAdminClient(**_settings(access), bootstrap_timeout_ms=patience_ms)
                admin.list_topics()
                admin.close()
            except (KafkaError, OSError) as error:
                return f"{type(error).__name__}: {error}: {log.text}"
        return ""

    def close(self) -> None:
        return


def _settings(access: Access) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": access.servers.split(","),
        "security_protocol": access.protocol,
    }
    if access.uses_tls:
        settings["ssl_cafile"] = access.ca_file
        if access.certificate_file:
            settings |= {"ssl_certfile": access.certificate_file, "ssl_keyfile": access.key_file}
    if access.uses_sasl:
        settings["sasl_mechanism"] = access.mechanism
        if access.mechanism == "OAUTHBEARER":
            settings["sasl_oauth_token_provider"] = _Token(access.token)
        else:
            settings |= {"sasl_plain_username": access.user, "sasl_plain_password": access.password}
    return settings
