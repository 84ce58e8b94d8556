"""The log cleaner in an event loop: workers, the keys of the configuration, the stop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.common.config.config_table import Value
from signalbox.common.ids import TopicPartition
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.server.cleaning import Cleaning
from signalbox.storage.cleaner.cleaning_pass import CleaningPass
from signalbox.storage.cleaner.worker_port import Mapped, SegmentSource, WorkerLimits, WorkerLost
from signalbox.storage.cleaner.worker_process import ProcessWorker
from signalbox.storage.config_rows import STORAGE_CONFIG
from signalbox.storage.files.file_system import RealFileSystem
from tests.storage.cleaner.cleaning import COMPACTED, CompactedLog, keyed
from tests.storage.workbench import TOPIC_ID, TP

pytestmark = pytest.mark.spec("D6")


class Worker(CleaningPass):
    """Records its limits."""

    def __init__(self) -> None:
        super().__init__(RealFileSystem())
        self.limits: list[WorkerLimits] = []
        self.closed = 0

    def begin(self, limits: WorkerLimits) -> None:
        super().begin(limits)
        if hasattr(self, "limits"):
            self.limits.append(limits)

    def close(self) -> None:
        self.closed += 1


class Broker:
    """A compacted log, and the cleaner that runs until there were so many pauses."""

    def __init__(self, folder: Path, **changes: Value) -> None:
        self.log = CompactedLog(folder, file_system=RealFileSystem())
        self.fill()
        self.values = {row.name: row.default for row in STORAGE_CONFIG}
        self.values.update({name.replace("_", "."): value for name, value in changes.items()})
        self.worker_type = Worker
        self.workers: list[Worker] = []
        self.pauses: list[float] = []
        self.on_pause: Callable[[], None] = lambda: None

    def fill(self) -> None:
        for number in range(60):
            self.log.append(keyed({"a": f"{number}", f"k{number}": "x" * 100}), roll=False)
        self.log.log.roll()

    def new_worker(self) -> Worker:
        self.workers.append(self.worker_type())
        return self.workers[-1]

    def run(self, pauses: int = 2) -> None:
        async def scenario() -> None:
            enough = asyncio.Event()

            async def pause(seconds: float) -> None:
                self.pauses.append(seconds)
                await asyncio.sleep(0)
                tasks = [slot.task for slot in cleaning._slots if slot.task is not None]
                await asyncio.gather(*tasks)
                self.on_pause()
                if len(self.pauses) == pauses:
                    enough.set()
                    await asyncio.get_running_loop().create_future()

            scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
            cleaning = Cleaning(self.log.cleaner, lambda: self.values, scheduler, self.new_worker, pause)
            await cleaning.start()
            async with asyncio.timeout(30):
                await enough.wait()
            await cleaning.stop()

        asyncio.run(scenario())


def test_dirty_logs_are_cleaned_and_the_worker_ends(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    before = broker.log.table()
    broker.run()
    assert broker.log.table() == before
    assert len(broker.log.offsets()) == 61
    assert broker.pauses == [15.0, 15.0]
    [worker] = broker.workers
    assert len(worker.limits) == 1
    assert worker.closed


def test_the_keys_of_the_configuration_apply_from_the_next_round_on(tmp_path: Path) -> None:
    broker = Broker(tmp_path, log_cleaner_backoff_ms=7_000)

    def change() -> None:
        if len(broker.pauses) == 1:
            broker.values |= {
                "log.cleaner.threads": 2,
                "log.cleaner.dedupe.buffer.size": 1_000_000,
                "log.cleaner.io.buffer.load.factor": 0.5,
                "log.cleaner.io.buffer.size": 80_000,
                "log.cleaner.io.max.bytes.per.second": 1e15,
            }
            broker.fill()

    broker.on_pause = change
    broker.run(3)
    assert broker.pauses == [7.0, 7.0, 7.0]
    limits = [limits for worker in broker.workers for limits in worker.limits]
    assert len(broker.workers) == 2
    assert limits[0] == WorkerLimits(int(134_217_728 * 0.9), 262_144, 1.7976931348623157e308)
    assert limits[1] == WorkerLimits(250_000, 20_000, 5e14)


class LosesWorkers(Worker):
    """Its process ends in each round of a segment that begins with `bad`."""

    def map_segment(self, source: SegmentSource) -> Mapped:
        if b"bad" in os.pread(source.fd, 200, 0):
            raise WorkerLost("killed")
        return super().map_segment(source)


def test_a_log_whose_worker_is_always_lost_does_not_stop_others(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.worker_type = LosesWorkers
    broker.log.log.body.compacted_to = 60  # less dirty than the other one
    broker.log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=0.1))
    other = broker.log.logs.create(TopicPartition("other", 0), TOPIC_ID, COMPACTED)
    other.append_as_leader(keyed({"bad": "1"}), 0, broker.log.clock.now_ms())
    broker.log.logs.flush_appends()
    other.roll()
    other.high_watermark = 1
    broker.run(5)
    assert broker.log.log.body.compacted_to == 120
    assert broker.pauses == [15.0] * 5
    assert [len(worker.limits) for worker in broker.workers] == [4]  # three of them for `other`
    assert broker.log.cleaner.is_uncleanable(other)


class DeletesWhatIsDirty(Worker):
    """Retention deletes the dirty segments at the beginning of each round, and others follow."""

    broker: Broker

    def begin(self, limits: WorkerLimits) -> None:
        super().begin(limits)
        if hasattr(self, "limits"):
            log = self.broker.log
            log.log.delete_records_before(log.log.log_end_offset)
            log.append(keyed({"a": "1"}))


def test_a_log_without_progress_is_tried_once_for_each_backoff(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    DeletesWhatIsDirty.broker, broker.worker_type = broker, DeletesWhatIsDirty
    broker.run(3)
    assert [len(worker.limits) for worker in broker.workers] == [3]
    assert broker.log.log.body.compacted_to == 0


@pytest.mark.parametrize("key", ["log_cleaner_threads", "log_cleaner_enable"])
def test_without_threads_or_disabled_nothing_is_cleaned(tmp_path: Path, key: str) -> None:
    broker = Broker(tmp_path, **{key: 0})

    async def scenario() -> None:
        scheduler = TaskScheduler(asyncio.get_running_loop())
        cleaning = Cleaning(broker.log.cleaner, lambda: broker.values, scheduler, broker.new_worker)
        await cleaning.start()
        await asyncio.sleep(0)
        await cleaning.stop()

    asyncio.run(scenario())
    assert not broker.workers
    assert len(broker.log.offsets()) == 120


class Waits(Worker):
    """Its first call ends when it is killed."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.killed = threading.Event(), threading.Event()
        self.closed_by: list[threading.Thread] = []

    def map_segment(self, source: SegmentSource) -> Mapped:
        self.begun.set()
        assert self.killed.wait(30)
        raise WorkerLost("killed")

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None:
        self.closed_by.append(threading.current_thread())


def test_a_stop_does_not_wait_for_a_worker_on_the_loops_thread(tmp_path: Path) -> None:
    broker, worker = Broker(tmp_path), Waits()

    async def scenario() -> None:
        scheduler = TaskScheduler(asyncio.get_running_loop())
        cleaning = Cleaning(broker.log.cleaner, lambda: broker.values, scheduler, lambda: worker)
        await cleaning.start()
        assert await asyncio.to_thread(worker.begun.wait, 30)
        await cleaning.stop()

    asyncio.run(scenario())
    assert worker.killed.is_set()
    assert worker.closed_by
    assert threading.main_thread() not in worker.closed_by


def test_a_call_ends_when_its_log_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.server.cleaning._CHECK_S", 0.001)
    broker, worker = Broker(tmp_path), Waits()

    async def scenario() -> None:
        scheduler = TaskScheduler(asyncio.get_running_loop())
        cleaning = Cleaning(broker.log.cleaner, lambda: broker.values, scheduler, lambda: worker)
        await cleaning.start()
        assert await asyncio.to_thread(worker.begun.wait, 30)
        broker.log.logs.delete(TP)
        assert await asyncio.to_thread(worker.killed.wait, 30)
        await cleaning.stop()

    asyncio.run(scenario())
    assert broker.log.logs.directories[0].online


def test_a_stop_ends_a_worker_that_waits_for_its_rate(tmp_path: Path) -> None:
    broker = Broker(tmp_path, log_cleaner_io_max_bytes_per_second=1.0)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()

        class Started(ProcessWorker):
            def begin(self, limits: WorkerLimits) -> None:
                super().begin(limits)
                loop.call_soon_threadsafe(begun.set)

        cleaning = Cleaning(broker.log.cleaner, lambda: broker.values, TaskScheduler(loop), Started)
        await cleaning.start()
        await begun.wait()
        await cleaning.stop()

    asyncio.run(scenario())
    assert len(broker.log.offsets()) == 120
