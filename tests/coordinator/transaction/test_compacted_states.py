"""`__transaction_state` after a compaction: a coordinator that loads it has the states that it had before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.coordinator.bench import settle, transcript
from tests.coordinator.memory_log import MemoryLog
from tests.coordinator.transaction_bench import PARTITION, T0, TransactionBench
from tests.storage.cleaner.cleaning import COMPACTED, CompactedLog

from signalbox.protocol.records.batch_header import iter_batch_headers

pytestmark = [pytest.mark.spec("D5"), pytest.mark.spec("D6")]

NAMES = ("orders-0", "orders-1")
CONFIG = replace(COMPACTED, segment_bytes=700, min_cleanable_dirty_ratio=0.0, delete_retention_ms=0)


async def run_transactions(bench: TransactionBench) -> None:
    """Some commit, some abort, the last one stays open; one id is initialized alone."""
    for name in NAMES:
        call = bench.init(name=name)
        await settle()
        assert call.response.error_code == 0
    producer = await bench.producer()
    for number in range(8):
        added = bench.add(producer)
        await settle()
        assert added.response == 0
        ended = bench.end(producer, committed=number % 3 > 0)
        await settle()
        producer = ended.response.producer_id, ended.response.producer_epoch
        await bench.answer_markers()
    bench.add(producer, T0)
    await settle()


def compacted(log: MemoryLog, folder: Path) -> MemoryLog:
    """The same log as the cleaner leaves it."""
    on_disk = CompactedLog(folder, CONFIG)
    for batch in log.batches[PARTITION]:
        on_disk.append(batch, roll=False)
    on_disk.log.roll()
    rounds = 0
    while on_disk.clean():
        rounds += 1
        on_disk.clock.advance(1)
    assert rounds
    result, offset = MemoryLog(), 0
    batches: list[bytes] = []
    while offset < on_disk.log.log_end_offset:
        piece = on_disk.log.read(offset, 1 << 20)
        assert not isinstance(piece.records, bytes)
        data = piece.records.read()
        for header in iter_batch_headers(data):
            batches.append(data[header.position : header.position + header.size_bytes])
            offset = header.next_offset
    result.batches[PARTITION] = batches
    return result


@transcript
async def test_a_coordinator_loads_the_newest_states(tmp_path: Path) -> None:
    bench = await TransactionBench().start()
    await run_transactions(bench)
    log = compacted(bench.log, tmp_path)
    assert sum(map(len, log.batches[PARTITION])) < sum(map(len, bench.log.batches[PARTITION])) / 3
    before = await TransactionBench(bench.log, bench.clock).start(2)
    after = await TransactionBench(log, bench.clock).start(2)
    for name in (*NAMES, "orders"):
        assert after.describe(name) == before.describe(name)
    assert after.describe("orders").transaction_state == "Ongoing"
    ended = after.end((after.describe("orders").producer_id, after.describe("orders").producer_epoch))
    await settle()
    assert ended.response.error_code == 0
    assert len(after.markers_in_flight()) == 1
