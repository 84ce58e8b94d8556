"""A broker does not use a metadata store that is older than its logs, neither at its start nor while it runs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.start_error import StartError
from signalbox.metadata.layout import CONTROLLER_EPOCH, STORE_INCARNATION, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Fence, Operation, OperationResult, StoreFull, Write
from signalbox.server.store.store_guard import StoreGuard
from signalbox.storage.directories.store_position_file import read_store_position
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_manager import LogManager
from tests.configuration.settings import config_of
from tests.server.store.older_copy import put_back
from tests.waiting import until_true
from tests.wiring.test_node import node_in

ONE = {"offsets__topic__replication__factor": "1", "signalbox__audit__topic__replication__factor": "1"}


async def lived(folder: Path, controlled: bool = True) -> None:
    """One run of a broker: started, ready, stopped."""
    node = node_in(folder, **ONE)
    await node.start()
    await node.stop(controlled=controlled)


async def rejected(folder: Path) -> str:
    """The error message of a start that must fail."""
    node = node_in(folder, **ONE)
    with pytest.raises(StartError) as rejected:
        await node.start()
    await node.stop(controlled=False)
    return str(rejected.value)


@pytest.mark.spec("M3")
@pytest.mark.parametrize("controlled", [True, False])
def test_a_store_restored_from_an_older_copy_rejects_the_start(tmp_path: Path, controlled: bool) -> None:
    async def scenario() -> None:
        await lived(tmp_path)
        shutil.copy(tmp_path / "metadata.db", tmp_path / "older.db")
        await lived(tmp_path, controlled)
        newest = tmp_path / "metadata.db"
        newest.rename(tmp_path / "newest.db")
        put_back(tmp_path / "older.db", newest)
        words = await rejected(tmp_path)
        assert "signalbox.metadata.store" in words
        assert "is an older copy (incarnation=" in words
        assert str(tmp_path / "data") in words
        assert "signalbox store accept-older --config" in words
        (tmp_path / "newest.db").replace(newest)
        await lived(tmp_path)

    asyncio.run(scenario())


@pytest.mark.spec("M3")
def test_another_history_of_the_same_cluster_rejects_the_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        await lived(tmp_path)
        position = tmp_path / "data" / "metadata-store.properties"
        text = position.read_text()
        position.write_text(text.replace("incarnation=", "incarnation=another"))
        assert "holds another history of the cluster" in await rejected(tmp_path)
        position.unlink()  # as a log directory of an earlier release is
        await lived(tmp_path)
        assert position.exists()

    asyncio.run(scenario())


@pytest.mark.spec("M3")
def test_a_running_broker_stops_when_its_store_is_replaced_by_an_older_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await store.commit([Create(CONTROLLER_EPOCH, b"5")])
        logs = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
        logs.start("cluster", 1)
        failures: list[str] = []
        guard = StoreGuard(store, config_of(log__dirs=str(tmp_path)), failures.append)
        await guard.check()
        await guard.start(logs.directories)
        older = await store.read(STORE_INCARNATION)
        assert older is not None
        await store.commit([Write(CONTROLLER_EPOCH, b"6")])
        await until_true(lambda: epoch_in(tmp_path) == 6)
        assert failures == []
        await store.commit([Write(STORE_INCARNATION, older.data), Write(CONTROLLER_EPOCH, b"5")])
        await until_true(lambda: bool(failures))
        assert "is an older copy" in failures[0]
        assert "controller epoch=5) than this node has seen" in failures[0]
        assert epoch_in(tmp_path) == 6, "what was seen is not forgotten"
        await guard.stop(controlled=False)
        logs.close()

    asyncio.run(scenario())


@pytest.mark.spec("M3")
def test_the_position_of_a_full_store_is_advanced_when_space_is_free_again(tmp_path: Path) -> None:
    class Filling(MemoryMetadataStore):
        full = False
        tries = 0

        async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
            if self.full:
                self.tries += 1
                raise StoreFull("no room")
            return await super().commit(operations, fence)

    async def scenario() -> None:
        shared = SharedEntries()
        store, other = Filling(shared), MemoryMetadataStore(shared)
        await create_roots(store)
        await store.commit([Create(CONTROLLER_EPOCH, b"5")])
        logs = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
        logs.start("cluster", 1)
        failures: list[str] = []
        guard = StoreGuard(store, config_of(log__dirs=str(tmp_path)), failures.append)
        await guard.start(logs.directories)
        store.full = True
        await other.commit([Write(CONTROLLER_EPOCH, b"6")])
        await until_true(lambda: store.tries == 1)
        assert epoch_in(tmp_path) == 5
        store.full = False
        await other.commit([Write(CONTROLLER_EPOCH, b"7")])
        await until_true(lambda: epoch_in(tmp_path) == 7)
        assert failures == []
        await guard.stop(controlled=True)
        logs.close()

    asyncio.run(scenario())


def test_a_session_that_ended_during_the_start_is_renewed(tmp_path: Path) -> None:
    async def scenario() -> None:
        shared = SharedEntries()
        store = MemoryMetadataStore(shared)
        await create_roots(store)
        await store.commit([Create(CONTROLLER_EPOCH, b"5")])
        logs = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
        logs.start("cluster", 1)
        guard = StoreGuard(store, config_of(log__dirs=str(tmp_path)), lambda reason: None)
        shared.expire(await store.open_session())
        await guard.start(logs.directories)
        assert store.has_session
        assert epoch_in(tmp_path) == 5
        await guard.stop(controlled=True)
        logs.close()

    asyncio.run(scenario())


def epoch_in(log_dir: Path) -> int:
    position = read_store_position(str(log_dir))
    assert position is not None
    return position.controller_epoch
