"""The secret of salts: the first node creates it, all nodes follow it, and no start waits for it."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from pathlib import Path

import pytest

from signalbox.metadata.backup.store_backup import opened_backup, take_backup
from signalbox.metadata.backup.store_copy import copy_store
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.salt_secret import SaltSecretRepository, read_or_create_salt_secret
from signalbox.metadata.layout import SALT_SECRET
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Entry, StoreUnavailable, Write
from tests.metadata.participants import run_with_stores
from tests.waiting import until_true


class Away(MemoryMetadataStore):
    """A store that is unavailable until `back` is set."""

    back = False

    async def read(self, path: str) -> Entry | None:
        if not self.back:
            raise StoreUnavailable("gone")
        return await super().read(path)


def test_all_get_the_same_new_secret() -> None:
    async def scenario(shared: SharedEntries, *stores: MemoryMetadataStore) -> None:
        secrets = await asyncio.gather(*(read_or_create_salt_secret(store) for store in stores))
        assert len(set(secrets)) == 1
        assert len(secrets[0]) == 32
        entry = await stores[0].read(SALT_SECRET)
        assert entry is not None
        assert json.loads(entry.data or b"") == {"version": 1, "secret": base64.b64encode(secrets[0]).decode()}

    run_with_stores(3, scenario)


CORRUPT = [b"", b"[]", b"{}", b'{"secret":7}', b'{"secret":"c2h', b'{"secret":"*c2hvcnQ="}', b'{"secret":"c2hvcnQ="}']


@pytest.mark.parametrize("data", CORRUPT)
def test_a_corrupt_secret_is_never_replaced_nor_shown(data: bytes) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await store.commit([Create(SALT_SECRET, data)])
        with pytest.raises(BadEntry, match=SALT_SECRET) as rejected:
            await read_or_create_salt_secret(store)
        assert "c2h" not in str(rejected.value)
        assert rejected.value.__cause__ is None
        entry = await store.read(SALT_SECRET)
        assert entry is not None
        assert entry.data == data

    run_with_stores(1, scenario)


def test_changes_are_followed_corrupt_data_is_ignored_and_a_removed_secret_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        notified: asyncio.Queue[bytes] = asyncio.Queue()
        repository = SaltSecretRepository(reader, notified.put_nowait)
        await repository.start()
        first = await notified.get()
        assert first == await read_or_create_salt_secret(writer)
        with caplog.at_level(logging.ERROR):
            await writer.commit([Write(SALT_SECRET, b"torn")])
            await until_true(lambda: bool(caplog.records))
        assert f"{SALT_SECRET} holds no secret" in caplog.text
        assert notified.empty()
        await writer.commit([Delete(SALT_SECRET)])
        second = await notified.get()
        assert second != first
        assert second == await read_or_create_salt_secret(writer)
        await repository.stop()
        await writer.commit([Delete(SALT_SECRET)])
        await asyncio.sleep(0)
        assert await writer.read(SALT_SECRET) is None

    run_with_stores(2, scenario)


def test_start_does_not_wait_for_an_unavailable_store() -> None:
    async def run() -> None:
        shared = SharedEntries()
        away, notified = Away(shared), asyncio.Queue[bytes]()
        repository = SaltSecretRepository(away, notified.put_nowait)
        await repository.start()
        assert notified.empty()
        away.back = True
        assert await asyncio.wait_for(notified.get(), 60) == await read_or_create_salt_secret(
            MemoryMetadataStore(shared)
        )
        await repository.stop()

    asyncio.run(run())


def test_copies_and_backups_carry_it(tmp_path: Path) -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        secret = await read_or_create_salt_secret(store)
        await read_or_create_cluster_id(store)
        copied, restored = (MemoryMetadataStore(SharedEntries()) for _ in range(2))
        await copy_store(store, copied)
        assert await read_or_create_salt_secret(copied) == secret
        await take_backup(store, tmp_path / "backup")
        await copy_store(await opened_backup((tmp_path / "backup").read_bytes()), restored)
        assert await read_or_create_salt_secret(restored) == secret

    run_with_stores(1, scenario)
