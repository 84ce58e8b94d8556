"""The six clients by the names that the matrix uses, each started at its first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from tests.system.interop_security.access import Driver
from tests.system.interop_security.coprocess import Coprocess
from tests.system.interop_security.of_aiokafka import Aiokafka
from tests.system.interop_security.of_kafka_python import KafkaPython
from tests.system.interop_security.of_kcat import Kcat
from tests.system.interop_security.of_librdkafka import Librdkafka
from tests.system.provision import HERE, command, java, java_class, node_modules

NEEDS = (
    node_modules,
    partial(command, "node"),
    partial(java_class, "Security.java", "clients"),
    partial(command, "kcat"),
)
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_ALLOWED_URLS = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="


class Clients:
    """`token_urls` are the URLs from which the Java client may fetch tokens (it needs a switch for that)."""

    def __init__(self, token_urls: tuple[str, ...]) -> None:
        self._token_urls = token_urls
        self._running: dict[str, Driver] = {}

    def __getitem__(self, name: str) -> Driver:
        if name not in self._running:
            self._running[name] = self._starters[name]()
        return self._running[name]

    def close(self) -> None:
        for driver in self._running.values():
            driver.close()

    @property
    def _starters(self) -> Mapping[str, Callable[[], Driver]]:
        return {
            "librdkafka": Librdkafka,
            "kafka-python": KafkaPython,
            "aiokafka": Aiokafka,
            "kafkajs": _kafkajs,
            "java": self._java,
            "kcat": Kcat,
        }

    def _java(self) -> Driver:
        class_path = java_class("Security.java", "clients")
        allowed = _ALLOWED_URLS + ",".join(self._token_urls)
        return Coprocess([*java(_QUIET, allowed), "-cp", class_path, "Security"], os.environ)


def _kafkajs() -> Driver:
    environment = {**os.environ, "NODE_PATH": str(node_modules()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    return Coprocess([command("node"), str(HERE / "node" / "security.js")], environment)
