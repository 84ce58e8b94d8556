"""Store watcher: brokers, failed log directories and ISRs, read after each change and never out of order."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import pytest

from signalbox.controller.context import LiveBroker
from signalbox.controller.store.store_watcher import StoreWatcher
from signalbox.metadata.entries.feature_levels import LevelRanges
from signalbox.metadata.entries.log_dir_event import report_log_dir_failure
from signalbox.metadata.layout import (
    CONTROLLER_IDS,
    LOG_DIR_EVENTS,
    broker_id_path,
    controller_id_path,
    topic_path,
)
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Fence, Write
from tests.controller.cluster import register, registration
from tests.metadata.participants import run_with_stores


class Reader:
    """Records its calls."""

    def __init__(self) -> None:
        self.brokers: list[list[int]] = []
        self.controllers: list[Mapping[int, LevelRanges]] = []
        self.failed: list[int] = []
        self.errors: list[Exception] = []
        self.changes = 0
        self.called = asyncio.Event()

    def on_brokers_changed(self, brokers: Mapping[int, LiveBroker]) -> None:
        self.brokers.append(sorted(brokers))
        self.called.set()

    def on_controllers_changed(self, controllers: Mapping[int, LevelRanges]) -> None:
        self.controllers.append(controllers)
        self.called.set()

    def log_dir_failed(self, broker_id: int) -> None:
        self.failed.append(broker_id)
        self.called.set()

    async def look_at_shared(self) -> None:
        raise AssertionError("no node stored anything")

    def on_read_failed(self, error: Exception) -> None:
        self.errors.append(error)
        self.called.set()

    def on_corruption_changed(self) -> None:
        self.changes += 1
        self.called.set()

    async def until(self, expected: object, attribute: str) -> None:
        while getattr(self, attribute)[-1:] != [expected]:
            await self.called.wait()
            self.called.clear()


TASKS: set[asyncio.Task[None]] = set()


def spawn(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    TASKS.add(task)
    task.add_done_callback(TASKS.discard)


def test_brokers_come_and_go() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, brokers: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        watcher.look_at_brokers()
        await reader.until([], "brokers")
        await brokers.open_session()
        await register(brokers, registration(1))
        await reader.until([1], "brokers")
        await register(brokers, registration(2))
        await brokers.commit([Delete(broker_id_path(1))])
        await reader.until([2], "brokers")
        watcher.close()
        calls = len(reader.brokers)
        await brokers.close()
        await asyncio.sleep(0)
        assert len(reader.brokers) == calls

    run_with_stores(2, scenario)


@pytest.mark.spec("F15")
def test_dedicated_controllers_come_and_go_with_what_they_support(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        watcher.look_at_controllers()
        await reader.until({}, "controllers")
        await other.open_session()
        payload = registration(101, features={"f": (1, 2)}).encode()
        await other.commit([Create(controller_id_path(101), payload, of_session=True)])
        await reader.until({101: {"f": (1, 2)}}, "controllers")
        await other.commit([Create(controller_id_path(102), b"torn", of_session=True), Create(f"{CONTROLLER_IDS}/x")])
        await reader.until({101: {"f": (1, 2)}, 102: {}}, "controllers")
        assert (
            "the controller is treated as supporting no features: /signalbox_controllers/102 holds no JSON"
            in caplog.text
        )
        await other.close()
        await reader.until({}, "controllers")
        watcher.close()

    run_with_stores(2, scenario)


def test_failed_directories_are_read_once_and_removed() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, broker: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        await broker.commit([Create(f"{LOG_DIR_EVENTS}/log_dir_event_", b"?", numbered=True)])
        await report_log_dir_failure(broker, 3)
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        watcher.look_at_log_dirs()
        await reader.until(3, "failed")
        await report_log_dir_failure(broker, 4)
        await reader.until(4, "failed")
        emptied = asyncio.Event()
        broker.watch(LOG_DIR_EVENTS, emptied.set)
        while await broker.children(LOG_DIR_EVENTS):
            await emptied.wait()
            emptied.clear()
        assert reader.failed == [3, 4]
        watcher.close()

    run_with_stores(2, scenario)


@pytest.mark.spec("M3")
def test_a_fenced_controller_removes_no_notification() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, broker: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        await store.commit([Write("/controller_epoch", b"2")])
        await report_log_dir_failure(broker, 3)
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        watcher.look_at_log_dirs()
        await asyncio.gather(*TASKS)
        assert len(await broker.children(LOG_DIR_EVENTS)) == 1
        watcher.close()

    run_with_stores(2, scenario)


def test_the_repair_of_a_corrupt_entry_is_reported() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, operator: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1"), Create(topic_path("t"), b"?")])
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({topic_path("t"): b"?"})
        watcher.look_at_corrupt_entries()
        await asyncio.gather(*TASKS)
        await operator.commit([Write(topic_path("t"), b"?")])
        await asyncio.gather(*TASKS)
        assert reader.changes == 0, "it is what it was"
        reader.called.clear()
        await operator.commit([Write(topic_path("t"), b'{"version":3,"partitions":{"0":[1]}}')])
        await reader.called.wait()
        assert reader.changes == 1
        watcher.close()

    run_with_stores(2, scenario)


def test_a_registration_that_cannot_be_read_is_none(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, even if other registrations change, and read again when it is repaired."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.open_session()
        await register(store, registration(1))
        await register(store, registration(2))
        await store.commit([Write(broker_id_path(1), b"?")])
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        watcher.look_at_brokers()
        await reader.called.wait()
        assert reader.brokers == [[2]]
        await register(store, registration(3))
        await reader.until([2, 3], "brokers")
        assert caplog.text.count("/brokers/ids/1 holds no JSON") == 1
        await store.commit([Write(broker_id_path(1), registration(1).encode())])
        await reader.until([1, 2, 3], "brokers")
        assert not reader.errors
        watcher.close()

    run_with_stores(1, scenario)


def test_a_changed_registration_is_reported() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, brokers: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        await brokers.open_session()
        await register(brokers, registration(1))
        watcher.open({})
        watcher.look_at_brokers()
        await reader.until([1], "brokers")
        await asyncio.gather(*TASKS)  # the second read, after the new watch was set
        calls = len(reader.brokers)
        await brokers.commit([Write(broker_id_path(1), registration(1, rack="elsewhere").encode())])
        while len(reader.brokers) == calls:
            await reader.called.wait()
            reader.called.clear()
        watcher.close()

    run_with_stores(2, scenario)


def test_on_a_full_store_a_failed_directory_is_reported_and_its_notification_is_kept() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, broker: MemoryMetadataStore) -> None:
        reader = Reader()
        await store.commit([Create("/controller_epoch", b"1")])
        await report_log_dir_failure(broker, 3)
        watcher = StoreWatcher(store, Fence("/controller_epoch", 0), reader, spawn)
        watcher.open({})
        shared.free_space_bytes = 0
        watcher.look_at_log_dirs()
        await reader.until(3, "failed")
        await asyncio.gather(*TASKS)
        assert len(await broker.children(LOG_DIR_EVENTS)) == 1
        shared.free_space_bytes = None
        watcher.look_at_log_dirs()
        await asyncio.gather(*TASKS)
        assert await broker.children(LOG_DIR_EVENTS) == []
        assert (reader.failed, reader.errors) == ([3, 3], [])
        watcher.close()

    run_with_stores(2, scenario)
