"""Small batches that decompress to a large size, on a compacted topic: the latency of other clients meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from bench import frames
from bench.c_programs import probe
from bench.data_plane import ACKS_ALL
from bench.planes.loads import Kind, busy, frame_file, peer
from bench.planes.stage import Stage
from bench.subject import PRODUCE_TOPIC
from bench.table import Row, absolute
from signalbox.client.admin import AdminClient
from signalbox.protocol.records.record_batch import Record, encode_batch

_TOPIC = "bombs"
_MAX_MESSAGE_BYTES, _UNPACKED_BYTES = 20_971_520, 200_000_000
_CONNECTIONS, _RATE, _P99_US = 2, 200, 50_000.0
BOMBS = "batches of 194 KB that decompress to 200 MB"


def bomb_rows(stage: Stage, seconds: float) -> Iterator[Row]:
    """p99 of a producer beside two producers that send such batches."""
    asyncio.run(_create(stage.port))
    batch = encode_batch(
        [Record(key=b"k", value=bytes(_UNPACKED_BYTES))], timestamp_ms=int(time.time() * 1000), compression="gzip"
    )
    bomb = frames.produce(_TOPIC, batch, 1, ACKS_ALL)
    answer = stage.ask(bomb)
    if answer[bomb.error_at :][:2] != b"\0\0":
        raise RuntimeError(f"the bomb was rejected: {answer!r}")
    path = frame_file(stage.folder, "bomb", bomb)
    kind = Kind(BOMBS, lambda stage: [peer("repeat", stage.port, path, _CONNECTIONS)])
    one = frames.produce(PRODUCE_TOPIC, frames.plain(frames.batch_of(1_024, 1)), 1, ACKS_ALL)
    with busy(kind, stage):
        latencies = probe(stage.port, seconds, _RATE, one)
    yield absolute(f"produce p99 beside {BOMBS}, us", latencies[int(len(latencies) * 0.99)], _P99_US)


async def _create(port: int) -> None:
    configs = {"cleanup.policy": "compact", "max.message.bytes": str(_MAX_MESSAGE_BYTES)}
    async with AdminClient.of(f"127.0.0.1:{port}", api_timeout_ms=60_000) as admin:
        await admin.create_topic(_TOPIC, 1, 1, configs)
