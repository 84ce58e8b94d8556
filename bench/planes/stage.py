"""The broker under load: one process on a real disk, with TLS listener, log for cold reads, and 5,000 partitions."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.system.provision import command

from bench import frames
from bench.subject import Subject
from signalbox.client.admin import AdminClient

COLD_TOPIC = "cold"
MANY_PARTITIONS = 5_000
_TOPICS = 50
_COLD_BATCHES, _COLD_BYTES = 512, 1_048_576
_LISTENERS = "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0,TLS://127.0.0.1:0"
_PROTOCOLS = "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT,TLS:SSL"


class Stage(Subject):
    """A broker that measures its polls. `overrides` are keys of server.properties."""

    def __init__(self, folder: Path, overrides: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        keystore = _keystore(folder)
        given = {
            "listeners": _LISTENERS,
            "listener.security.protocol.map": _PROTOCOLS,
            "listener.name.tls.ssl.keystore.location": str(keystore),
            "log.cleaner.backoff.ms": "50",  # the cleaner is never idle when it has something to do
            **(overrides or {}),
        }
        super().__init__(folder, measure_polls=True, overrides=given)
        self.cold_records = _COLD_BATCHES

    @property
    def tls_port(self) -> int:
        return self._port("TLS")

    def log_of(self, topic: str) -> Path:
        """The folder of partition 0."""
        return self._broker.folder / "data" / f"{topic}-0"

    def furnish(self) -> None:
        """Creates topics and records for the loads."""
        self.create_topics([])
        asyncio.run(self._create_many())
        batch = frames.plain(frames.batch_of(_COLD_BYTES, 1))
        frame = frames.produce(COLD_TOPIC, batch, 1, -1)
        for _ in range(_COLD_BATCHES):
            self.ask(frame)
        for path in self.log_of(COLD_TOPIC).glob("*.log"):
            with path.open("rb") as log:
                os.fsync(log.fileno())

    async def _create_many(self) -> None:
        async with AdminClient.of(f"127.0.0.1:{self.port}", api_timeout_ms=120_000) as admin:
            await admin.create_topic(COLD_TOPIC, 1, 1, {})
            for number in range(_TOPICS):
                await admin.create_topic(f"many-{number:02}", MANY_PARTITIONS // _TOPICS, 1, {})


def _keystore(folder: Path) -> Path:
    """A key with a self-signed certificate, as one PEM file."""
    key, certificate, both = folder / "key.pem", folder / "certificate.pem", folder / "keystore.pem"
    made = [command("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "7"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both
