"""What a client needs to connect to a test cluster, in the words of each client library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signalbox.client.client_settings import ClientSettings

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """`user`, `password` and `mechanism` are used with SASL, `authority` (a PEM file) with TLS."""

    bootstrap_servers: str
    security: str = "PLAINTEXT"
    mechanism: str = ""
    user: str = ""
    password: str = ""
    authority: Path | None = None

    def properties(self) -> dict[str, str]:
        """Kafka's own keys: for Java clients, for files of `--command-config`, for Signalbox's client."""
        properties = {"bootstrap.servers": self.bootstrap_servers, "security.protocol": self.security}
        if self.authority is not None:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if self.user:
            login = f'{_MODULES[self.mechanism]} required username="{self.user}" password="{self.password}";'
            properties |= {"sasl.mechanism": self.mechanism, "sasl.jaas.config": login}
        return properties

    def librdkafka(self) -> dict[str, Any]:
        """The keys of librdkafka: for confluent-kafka, kcat and others."""
        config: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security.lower(),
        }
        if self.authority is not None:
            config["ssl.ca.location"] = str(self.authority)
        if self.user:
            config |= {
                "sasl.mechanism": self.mechanism, "sasl.username": self.user, "sasl.password": self.password
            }  # fmt: skip
        return config

    def kafka_python(self) -> dict[str, Any]:
        """Keyword arguments of kafka-python."""
        config: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers, "security_protocol": self.security}
        if self.authority is not None:
            config["ssl_cafile"] = str(self.authority)
        return config | self._plain_login()

    def aiokafka(self) -> dict[str, Any]:
        """Keyword arguments of aiokafka."""
        config: dict[str, Any] = {"bootstrap_servers": self.bootstrap_servers, "security_protocol": self.security}
        if self.authority is not None:
            import ssl

            config["ssl_context"] = ssl.create_default_context(cafile=str(self.authority))
        return config | self._plain_login()

    def settings(self, **properties: str) -> ClientSettings:
        """Settings of Signalbox's client, with more of Kafka's keys (`_` for `.`)."""
        more = {key.replace("_", "."): value for key, value in properties.items()}
        return ClientSettings.from_properties(self.properties() | more)

    def _plain_login(self) -> dict[str, str]:
        if not self.user:
            return {}
        return {
            "sasl_mechanism": self.mechanism, "sasl_plain_username": self.user, "sasl_plain_password": self.password
        }  # fmt: skip
