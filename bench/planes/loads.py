"""The kinds of load that may keep a data plane busy. Each is one process or several; they run inside `busy`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import frames
from bench.c_programs import Load
from bench.data_plane import ACKS_ALL
from bench.planes.stage import COLD_TOPIC, MANY_PARTITIONS, Stage
from bench.subject import PRODUCE_TOPIC

_STOP_S = 60.0
_PRODUCERS, _PRODUCE_BYTES, _PRODUCE_RECORDS = 16, 1_048_576, 1_000
_FOREVER_S = 3_600.0
_METADATA_BYTES = 26  # of one partition with one replica: error, index, leader and its epoch, three lists of nodes


@dataclass(frozen=True)
class GapBounds:
    """Of the gaps between two polls of the control plane, in microseconds."""

    p99: float
    worst: float


# WIDE: one call of 0.5 to 3 ms cannot be cut, or new memory is touched (decision 0042).
NARROW, WIDE = GapBounds(500.0, 5_000.0), GapBounds(1_000.0, 10_000.0)


@dataclass(frozen=True)
class Kind:
    """`begin(stage)` starts the load and returns its processes, which print `ready` first if `announced`."""

    name: str
    begin: Callable[[Stage], list[subprocess.Popen[str]]]
    bounds: GapBounds = NARROW
    announced: bool = True
    guarded: bool = False  # on the broker with an authorizer


def kinds() -> Iterator[Kind]:
    """Every kind of the table."""
    yield Kind("produce of 1 MB batches", _produce, WIDE, announced=False)
    yield Kind("fetches of 1 MB that are not in the page cache", _cold, WIDE)
    yield Kind("TLS handshakes", _handshakes, WIDE)
    yield Kind("slow consumers", _slow_consumers)
    yield Kind(f"Metadata for {MANY_PARTITIONS} partitions", _metadata)
    yield Kind("a group of 200 rebalancing", _rebalance)
    yield Kind("topics of 100 partitions created and deleted", _topics, WIDE)
    yield Kind("Metadata with 2,000 ACLs", _metadata, guarded=True)
    yield Kind("ListOffsets of 10 MB", _list_offsets)
    yield Kind("Fetch of 10 MB", _wide_fetch)
    yield Kind("the log cleaner", _cleaner, WIDE)


@contextmanager
def busy(kind: Kind, stage: Stage) -> Iterator[None]:
    """The data plane is kept busy inside the block."""
    processes = kind.begin(stage)
    try:
        if kind.announced:
            for process in processes:
                assert process.stdout is not None
                if process.stdout.readline().strip() != "ready":
                    raise RuntimeError(f"the load {kind.name!r} did not begin")
        yield
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"the load {kind.name!r} ended with {process.returncode}")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.communicate(timeout=_STOP_S)


def peer(kind: str, port: int, *arguments: object) -> subprocess.Popen[str]:
    """A process of `bench.planes.peers`."""
    command = [sys.executable, "-m", "bench.planes.peers", kind, str(port), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _repeat(stage: Stage, name: str, frame: frames.Frame, connections: int, answer_bytes: int) -> subprocess.Popen[str]:
    """Each response has at least `answer_bytes`: an error would be a light load."""
    return peer("repeat", stage.port, frame_file(stage.folder, name, frame), connections, answer_bytes)


def _produce(stage: Stage) -> list[subprocess.Popen[str]]:
    batch = frames.batch_of(_PRODUCE_BYTES, _PRODUCE_RECORDS)
    frame = frames.produce(PRODUCE_TOPIC, batch, _PRODUCE_RECORDS, ACKS_ALL)
    return [Load("planes-produce", frame, _PRODUCERS).start(stage.port, _FOREVER_S)]


def _cold(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("cold", stage.port, COLD_TOPIC, stage.cold_records, stage.log_of(COLD_TOPIC), 8)]


def _handshakes(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("handshakes", stage.tls_port, 8) for _ in range(2)]


def _slow_consumers(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("slow_consumer", stage.port, COLD_TOPIC, 50)]


def _metadata(stage: Stage) -> list[subprocess.Popen[str]]:
    return [_repeat(stage, "metadata", frames.everything(), 8, MANY_PARTITIONS * _METADATA_BYTES)]


def _rebalance(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("rebalance", stage.port, 200)]


def _topics(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("topics", stage.port, 100)]


def _list_offsets(stage: Stage) -> list[subprocess.Popen[str]]:
    return [_repeat(stage, "list-offsets", frames.list_offsets(PRODUCE_TOPIC, 600_000), 2, 10_000_000)]


def _wide_fetch(stage: Stage) -> list[subprocess.Popen[str]]:
    return [_repeat(stage, "wide-fetch", frames.wide_fetch(PRODUCE_TOPIC, 300_000), 2, 10_000_000)]


def _cleaner(stage: Stage) -> list[subprocess.Popen[str]]:
    return [peer("compacted", stage.port, 100_000)]


def frame_file(folder: Path, name: str, frame: frames.Frame) -> Path:
    """A frame for a C program to send."""
    path = folder / f"{name}.frame"
    path.write_bytes(frame.data)
    return path
