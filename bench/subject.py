"""Our side: one broker process with all features enabled, and the topics that the loads need."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.c_programs import SEGMENT_BYTES
from bench.frames import Frame, api_versions, batch_of, plain, produce
from signalbox.client.admin import AdminClient
from signalbox.common.config.old_keys import with_old_names
from signalbox.common.config.properties_file import parse_properties
from signalbox.testing.process_cluster import ProcessCluster

PRODUCE_TOPIC = "p"
_BATCHES_TO_FETCH = 8


class Subject:
    """A cluster of one broker. Its produce topic keeps two segments of the reference's size, as the reference does."""

    def __init__(
        self, folder: Path, *, measure_polls: bool = False, overrides: Mapping[str, str] | None = None
    ) -> None:
        own = {
            "log.retention.check.interval.ms": "50",
            "log.initial.task.delay.ms": "0",  # the topic's size is limited from the first second on
            "signalbox.data.plane.measure.polls": str(measure_polls).lower(),
        }
        self._cluster = ProcessCluster(folder, 1, overrides={**own, **(overrides or {})})
        self._broker = self._cluster.brokers[1]

    def __enter__(self) -> Self:
        self._cluster.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._cluster.stop()

    @property
    def pid(self) -> int:
        assert self._broker.process is not None
        return self._broker.process.pid

    @property
    def port(self) -> int:
        return self._port("CLIENT")

    @property
    def control_port(self) -> int:
        return self._port("CONTROL")

    @property
    def metrics_url(self) -> str:
        return str(self._broker.ready["metrics"])

    def add_old_names(self) -> None:
        """Gives the broker's keys by their old names too: builds before the prefix `signalbox.` read only those."""
        self._cluster.write_files()
        values = parse_properties(self._broker.properties_file.read_text()).values
        renamed = {key: value for key, value in with_old_names(values).items() if key not in values}
        self._cluster.configure(1, renamed)

    def create_topics(self, fetch_sizes: list[int]) -> None:
        """The topic for produce, and one per fetch size with a few batches of exactly that size."""
        asyncio.run(self._create([PRODUCE_TOPIC, *map(fetch_topic, fetch_sizes)]))
        for size in fetch_sizes:
            for _ in range(_BATCHES_TO_FETCH):
                answer = self.ask(produce(fetch_topic(size), plain(batch_of(size, 1)), 1, -1))
                if answer[answer_error_at(fetch_topic(size)) :][:2] != b"\0\0":
                    raise RuntimeError(f"the batch of {size} bytes was rejected: {answer!r}")

    def ask(self, frame: Frame) -> bytes:
        """The payload of one response."""
        with socket.create_connection(("127.0.0.1", self.port)) as sock, sock.makefile("rb") as stream:
            sock.sendall(frame.data)
            return stream.read(int.from_bytes(stream.read(4)))

    def api_versions_answer(self) -> bytes:
        """Our response with its size, for the reference to send."""
        payload = self.ask(api_versions())
        return len(payload).to_bytes(4) + payload

    def _port(self, listener: str) -> int:
        return int(self._broker.address(listener).rpartition(":")[2])

    async def _create(self, names: list[str]) -> None:
        configs = {
            "segment.bytes": str(SEGMENT_BYTES),
            "retention.bytes": str(SEGMENT_BYTES),
            "file.delete.delay.ms": "0",
        }
        async with AdminClient.of(f"127.0.0.1:{self.port}") as admin:
            for name in names:
                await admin.create_topic(name, 1, 1, configs if name == PRODUCE_TOPIC else {})


def fetch_topic(size_bytes: int) -> str:
    return f"f{size_bytes}"


def answer_error_at(topic: str) -> int:
    """The position of the partition's error in a produce response."""
    return 4 + 1 + 1 + 1 + len(topic) + 1 + 4
