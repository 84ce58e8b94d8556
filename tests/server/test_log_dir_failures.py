"""A failed log directory: reported to the controller as soon as possible; the broker stops if it was the last one."""

import asyncio
from pathlib import Path

from signalbox.common.clock import ManualClock
from signalbox.metadata.entries.log_dir_event import decode_log_dir_event
from signalbox.metadata.layout import LOG_DIR_EVENTS, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.server.log_dir_failures import LogDirFailures
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_manager import LogManager


def _logs(failures: LogDirFailures, *folders: Path) -> LogManager:
    logs = LogManager([str(folder) for folder in folders], RealFileSystem(), ManualClock(), on_offline=failures)
    failures.logs = logs
    logs.start("cluster", 7)
    return logs


def test_a_failed_log_directory_is_reported_to_the_controller(tmp_path: Path) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        reported = asyncio.Event()
        store.watch(LOG_DIR_EVENTS, reported.set)
        reasons: list[str] = []
        logs = _logs(LogDirFailures(store, 7, reasons.append), tmp_path / "a", tmp_path / "b")
        logs.directories[0].fail(OSError(5, "Input/output error"), "writing")
        await asyncio.wait_for(reported.wait(), 60)
        (name,) = await store.children(LOG_DIR_EVENTS)
        entry = await store.read(f"{LOG_DIR_EVENTS}/{name}")
        assert entry is not None
        assert decode_log_dir_event(name, entry.data) == 7
        assert reasons == []
        logs.close()
        await store.close()

    asyncio.run(run())


def test_the_last_directory_is_the_end(tmp_path: Path) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        reasons: list[str] = []
        logs = _logs(LogDirFailures(store, 7, reasons.append), tmp_path / "a")
        logs.directories[0].fail(OSError(28, "No space left on device"), "writing")
        assert reasons == ["no log directory works any more"]
        await store.close()

    asyncio.run(run())
