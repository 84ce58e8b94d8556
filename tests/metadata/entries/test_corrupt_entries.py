"""Corrupt entries: logged once, counted, and mended as soon as their data changes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.metadata.entries.corrupt_entries import CorruptEntries, EntryKind, are_mended, readable
from signalbox.metadata.entries.entity_config import decode_configs
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Write

ALICE = "/config/users/alice"
GOOD = b'{"version":1,"config":{"a":"1"}}'


def read(corrupt: CorruptEntries, data: bytes, kind: EntryKind = EntryKind.CONFIGS) -> object:
    return corrupt.read(kind, ALICE, data, decode_configs, "the default")


def test_a_corrupt_entry_gives_the_default_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    corrupt = CorruptEntries()
    assert read(corrupt, GOOD) == {"a": "1"}
    assert caplog.messages == []
    assert read(corrupt, b"?") == read(corrupt, b"?") == "the default"
    [line] = caplog.messages
    assert line.startswith(f"Corrupt metadata entry, {EntryKind.CONFIGS.value}: {ALICE} holds no JSON")
    read(corrupt, b"[]")
    assert len(caplog.messages) == 2, "it is corrupt in another way"


def test_a_mended_entry_is_no_longer_corrupt(caplog: pytest.LogCaptureFixture) -> None:
    corrupt = CorruptEntries()
    read(corrupt, b"?")
    assert (set(corrupt.problems), corrupt.quarantined) == ({ALICE}, {ALICE: b"?"})
    assert read(corrupt, GOOD) == {"a": "1"}
    assert (corrupt.problems, corrupt.quarantined) == ({}, {})
    read(corrupt, b"?")
    assert len(caplog.messages) == 2, "it was corrupted again"


def test_an_entry_that_is_replaced_is_not_quarantined() -> None:
    corrupt = CorruptEntries()
    read(corrupt, b"?", EntryKind.CHANGE_NOTIFICATION)
    assert (set(corrupt.problems), corrupt.quarantined) == ({ALICE}, {})


def test_problems_of_one_topic_are_logged_as_one(caplog: pytest.LogCaptureFixture) -> None:
    collected, corrupt = CorruptEntries(), CorruptEntries()
    for path in ("/a", "/b"):
        assert collected.collect(EntryKind.TOPIC, path, b"?", decode_configs, None) is None
    assert caplog.messages == []
    corrupt.add(EntryKind.TOPIC, collected, "topic t")
    assert caplog.messages == ["Corrupt metadata entry, its topic or partition is quarantined: topic t"]
    assert corrupt.quarantined == {"/a": b"?", "/b": b"?"}


def test_beside_the_reader_that_reports_it_a_corrupt_entry_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert readable(decode_configs, ALICE, GOOD) == {"a": "1"}
    assert readable(decode_configs, ALICE, b"?") is None
    assert caplog.messages == []


def test_a_repair_a_deletion_and_another_corruption_are_changes() -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.commit([Create("/a", b"?"), Create("/b")])
        quarantined = {"/a": b"?", "/b": None}
        assert not await are_mended(store, {})
        assert not await are_mended(store, quarantined)
        await store.commit([Write("/a", b"?")])
        assert not await are_mended(store, quarantined), "it is what it was"
        await store.commit([Write("/a", b"[]")])
        assert await are_mended(store, quarantined)
        assert await are_mended(store, {"/a": b"[]", "/b": b""})
        await store.commit([Delete("/b")])
        assert await are_mended(store, {"/a": b"[]", "/b": None})

    asyncio.run(scenario())


@pytest.mark.parametrize("kind", EntryKind, ids=lambda kind: kind.name)
def test_the_page_has_every_effect(kind: EntryKind) -> None:
    page = Path(__file__).parents[3] / "docs" / "metadata-store.md"
    assert f"| {kind.value} |" in page.read_text()
