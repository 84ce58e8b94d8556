"""A backup file: complete or rejected, readable by its owner only."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from signalbox.metadata.backup.store_backup import (
    BadBackup,
    decode_backup,
    encode_backup,
    opened_backup,
    take_backup,
)
from signalbox.metadata.backup.store_copy import CopyRejected, copy_store, lasting
from signalbox.metadata.backup.stored_epochs import EPOCH_STEP
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.entries.producer_id_block import above_later_blocks
from signalbox.metadata.layout import PRODUCER_ID_BLOCK, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import ROOT, Create

ENTRIES: dict[str, bytes | None] = {"/cluster": None, "/cluster/id": b'{"version":"1","id":"x"}', "/ü": "ä\n".encode()}


def test_from_store_to_file_to_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await read_or_create_cluster_id(store)
        await store.open_session()
        await store.commit([Create("/brokers/ids/1", b"{}", of_session=True), Create("/config/users/a", b"{}")])
        file = tmp_path / "backup.jsonl"
        entries = await take_backup(store, file)
        assert entries == len(file.read_bytes().splitlines()) - 2
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with pytest.raises(FileExistsError):
            await take_backup(store, file)
        restored = MemoryMetadataStore(SharedEntries())
        await copy_store(await opened_backup(file.read_bytes()), restored)
        expected = lasting(await store.read_tree(ROOT))
        expected[PRODUCER_ID_BLOCK] = above_later_blocks(expected[PRODUCER_ID_BLOCK])
        assert lasting(await restored.read_tree(ROOT)) == expected

    asyncio.run(scenario())


STATE = b'{"version":1,"leader":2,"leader_epoch":41,"controller_epoch":3,"isr":[2,1]}'


@pytest.mark.parametrize(
    ("state", "restored"),
    [
        (STATE, STATE.replace(b"41", str(41 + EPOCH_STEP).encode())),
        (b"?", b"?"),  # corrupt when the backup was taken: all other entries are restored
        (b"{}", b"{}"),
    ],
)
def test_restored_leaders_begin_epochs_that_no_log_has_seen(state: bytes, restored: bytes) -> None:
    path = "/brokers/topics/t/partitions/0/state"
    parents: dict[str, bytes | None] = dict.fromkeys(
        ("/brokers", "/brokers/topics", "/brokers/topics/t", "/brokers/topics/t/partitions", path.rpartition("/")[0])
    )

    async def scenario() -> None:
        store = await opened_backup(encode_backup("x", {**parents, path: state}))
        entry = await store.read(path)
        assert entry is not None
        assert entry.data == restored

    asyncio.run(scenario())


def test_an_empty_store_has_no_backup(tmp_path: Path) -> None:
    with pytest.raises(CopyRejected, match="no cluster"):
        asyncio.run(take_backup(MemoryMetadataStore(SharedEntries()), tmp_path / "b"))
    assert not (tmp_path / "b").exists()


def test_every_entry_comes_back() -> None:
    assert decode_backup(encode_backup("x", ENTRIES)) == ENTRIES


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"S3cret\n\xff", "it is no backup, or was cut short: a line is not JSON"),
        (b"\xff\xfeS3cret\n", "it is no backup, or was cut short: a line is not text"),
        (b"", "it is no backup, or was cut short: its lines are not those of a backup"),
        (b'"S3cret"\n{}\n', "it is no backup, or was cut short: its lines are not those of a backup"),
        (b'{"S3cret":1}\n{}\n', "it is no backup, or was cut short: a line has no format"),
    ],
)
def test_what_is_no_backup_is_described_in_words(content: bytes, fault: str) -> None:
    with pytest.raises(BadBackup) as rejected:
        decode_backup(content)
    assert str(rejected.value) == fault


def test_an_entry_that_is_no_text_keeps_nothing_from_being_saved() -> None:
    corrupt: dict[str, bytes | None] = {**ENTRIES, "/brokers": b"\xff\x00", "/config": b""}
    content = encode_backup("x", corrupt)
    assert decode_backup(content) == corrupt
    assert b'{"path":"/brokers","base64":"/wA="}' in content.splitlines()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        b'{"format":"other","version":1}\n{"entries":0,"sha256":""}\n',
        encode_backup("x", ENTRIES)[:-20],
        b"".join(encode_backup("x", ENTRIES).splitlines(keepends=True)[:-2]),
        b"".join(line for n, line in enumerate(encode_backup("x", ENTRIES).splitlines(keepends=True)) if n != 1),
        encode_backup("x", ENTRIES).replace(b'"x"', b'"y"'),
        b"[]\n" * 3,
    ],
)
def test_an_incomplete_backup_is_rejected(content: bytes) -> None:
    with pytest.raises(BadBackup):
        decode_backup(content)
