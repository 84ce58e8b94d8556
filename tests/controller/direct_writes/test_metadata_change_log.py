"""The entry that orders the changes of all writers of shared metadata."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.controller.direct_writes.metadata_change_log import (
    MAX_NAMED_BYTES,
    MetadataChangeLog,
    decode_shared_changes,
    read_change_log,
    shared_paths,
)
from signalbox.metadata.layout import SHARED_CHANGES, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Check, Create, Delete, Entry, Operation, VersionConflict, Write


def test_written_and_read() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        empty = await read_change_log(store)
        assert empty == MetadataChangeLog()
        after = empty.followed_by(["/config/topics/t", "/config/users/u"])
        await store.commit([after.operation()])
        assert await read_change_log(store) == after
        assert after.version == 1
        with pytest.raises(VersionConflict):
            await store.commit([empty.followed_by(["/config/topics/late"]).operation()])

    asyncio.run(run())


def test_changes_since_a_version() -> None:
    changes = (
        MetadataChangeLog(4).followed_by(["/config/topics/a"]).followed_by(["/config/topics/b", "/config/topics/c"])
    )
    assert changes.since(6) == []
    assert changes.since(9) == [], "of a store that was copied: its versions begin again"
    assert changes.since(5) == [(6, "/config/topics/b"), (6, "/config/topics/c")]
    assert changes.since(4) == [(5, "/config/topics/a"), (6, "/config/topics/b"), (6, "/config/topics/c")]
    assert changes.since(3) is None, "version 4 names no paths: its changes are unknown"
    # The controller's commits name no paths: the controller knows what it has changed.
    assert MetadataChangeLog(7).since(6) is None


def test_only_so_much_is_remembered_and_no_version_by_half() -> None:
    long_name = "/config/topics/" + "n" * 200
    changes = MetadataChangeLog()
    for _ in range(100):
        changes = changes.followed_by([f"{long_name}-1", f"{long_name}-2", f"{long_name}-3"])
    numbers = [number for number, _ in changes.named]
    assert 100 < len(numbers) < 300
    assert all(numbers.count(number) == 3 for number in set(numbers))
    assert sum(len(path) for _, path in changes.named) <= MAX_NAMED_BYTES
    assert changes.since(99) is not None
    assert changes.since(1) is None
    flood = changes.followed_by(f"{long_name}-{number}" for number in range(500))
    assert flood.named == ()
    assert flood.since(100) is None


@pytest.mark.parametrize("data", [b"{}", b'{"changed":[1]}', b'{"changed":[["x","/a"]]}', b"[]", b"not json"])
def test_a_corrupt_entry_still_has_its_version(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    found = decode_shared_changes(Entry(data, 3, 1, 0))
    assert found == MetadataChangeLog(3)
    assert found.since(2) is None, "all entries are read again"
    assert SHARED_CHANGES in caplog.text


@pytest.mark.parametrize(
    ("operation", "shared"),
    [
        (Write("/config/topics/t", b""), True),
        (Delete("/config/users/u"), True),
        (Create("/kafka-acl/Topic/t"), True),
        (Create("/kafka-acl-extended/prefixed/Topic/t"), True),
        (Create("/brokers/topics/t"), True),
        (Create("/config/changes/config_change_", numbered=True), False),
        (Create("/kafka-acl-changes/acl_changes_", numbered=True), False),
        (Create("/brokers/topics/t/partitions"), False),
        (Write("/brokers/topics/t/partitions/0/state", b""), False),
        (Create("/admin/delete_topics/t"), False),
        (Check("/controller_epoch", 1), False),
    ],
)
def test_entries_that_several_brokers_may_write(operation: Operation, shared: bool) -> None:
    assert shared_paths([operation]) == ([operation.path] if shared else [])
