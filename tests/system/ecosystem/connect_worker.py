"""Workers of Kafka Connect in distributed mode with exactly-once sources, and their REST API."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signalbox.testing.free_ports import free_ports
from tests.system.ecosystem.java_program import JavaProgram
from tests.system.provision import jars, java

STORAGE_TOPICS = ("connect-configs", "connect-offsets", "connect-statuses")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
_PROPERTIES = {
    "group.id": "connect",
    "exactly.once.source.support": "enabled",
    "config.storage.topic": STORAGE_TOPICS[0],
    "offset.storage.topic": STORAGE_TOPICS[1],
    "status.storage.topic": STORAGE_TOPICS[2],
    "config.storage.replication.factor": "3",
    "offset.storage.replication.factor": "3",
    "status.storage.replication.factor": "3",
    "offset.storage.partitions": "3",
    "status.storage.partitions": "2",
    "key.converter": _CONVERTER,
    "value.converter": _CONVERTER,
    "plugin.discovery": "service_load",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    # The task of a worker that has died is moved at once.
    "scheduled.rebalance.max.delay.ms": "0",
}


class ConnectWorker(JavaProgram):
    """`worker_id` is its address."""

    def __init__(self, bootstrap: str, folder: Path, name: str) -> None:
        self.worker_id = f"127.0.0.1:{free_ports(1)[0]}"
        properties = {**_PROPERTIES, "bootstrap.servers": bootstrap, "listeners": f"http://{self.worker_id}"}
        file = folder / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        main = ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
        super().__init__([*java(_QUIET), "-cp", jars("connect"), *main], folder / f"{name}.log")

    def configure(self, connector: str, config: Mapping[str, str]) -> bool:
        """Creates or changes a connector; False while the workers cannot."""
        return self._call("PUT", f"/connectors/{connector}/config", config) is not None

    def running_task(self, connector: str) -> str:
        """The id of the worker that runs the connector's only task; "" while none does. AssertionError if it failed."""
        status = self._call("GET", f"/connectors/{connector}/status")
        for task in (status or {}).get("tasks", ()):
            assert task["state"] != "FAILED", str(task["trace"])[:600]
            if task["state"] == "RUNNING":
                return str(task["worker_id"])
        return ""

    def _call(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """None without an answer, or with an error."""
        assert self.runs, self.output()[-2_000:]
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.worker_id}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except (urllib.error.URLError, OSError):
            return None
