"""How long an alert takes: from a data request at the controller's listener, which the broker rejects, until the alert
is a record of its topic. `signalbox pipeline audit --alerts --interval 1s` runs as its users run it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.cimpl import Message

from bench.kafka.sides import Address, Line
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.process_cluster import ProcessCluster

ALERTS = 20
_TOPIC = "signalbox.alerts"
_ALERT_S, _STOP_S = 120.0, 60.0
_PAUSE_S = 0.37  # so that the requests do not fall on the same part of each interval
# An alert about the same address and API is not repeated: each request comes from an address of its own.
_CLIENT_HOST = "127.0.1.{}"


def alert_seconds(folder: Path, profile: str) -> list[float]:
    """The times of ALERTS alerts, one after the other; the first alert, for which Spark compiles, is not counted."""
    with ProcessCluster(folder / "cluster", 3) as cluster, _audit_run(cluster.bootstrap(), folder, profile):
        host, _, port = cluster.brokers[1].address("CONTROL").rpartition(":")
        reader = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "none", "log_level": 0})
        reader.assign([TopicPartition(_TOPIC, 0, 0)])
        found = []
        for number in range(ALERTS + 1):
            client = _CLIENT_HOST.format(number + 1)
            began = time.time()
            _send_data_request((host, int(port)), client)
            found.append(_alert_time(reader, client) - began)
            time.sleep(_PAUSE_S)
        reader.close()
        return found[1:]


def _send_data_request(address: Address, client_host: str) -> None:
    line = Line(address, source=client_host)
    line.send(ApiKey.METADATA, 9, MetadataRequest(topics=[]))
    line.close()


def _alert_time(reader: Consumer, client_host: str) -> float:
    """The time of the record with the alert about this client. RuntimeError: there is none."""
    deadline = time.monotonic() + _ALERT_S
    while time.monotonic() < deadline:
        message: Message | None = reader.poll(0.2)
        if message is None or message.error() is not None:
            continue
        if json.loads(message.value() or b"{}")["client_address"] == client_host:
            return message.timestamp()[1] / 1000
    raise RuntimeError(f"no alert about {client_host} within {_ALERT_S:.0f} s")


@contextmanager
def _audit_run(bootstrap: str, folder: Path, profile: str) -> Iterator[None]:
    program = str(Path(sys.executable).parent / "signalbox")
    command = [program, "pipeline", "audit", "-b", bootstrap, "--alerts"]
    command += ["--interval", "1s", "--profile", profile, "--warehouse", str(folder / "lake"), "--master", "local[2]"]
    with (folder / "audit.log").open("w") as log:
        run = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        run.send_signal(signal.SIGTERM)
        try:
            run.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
