"""The entry that orders the changes of all writers of shared metadata, and the commits that write it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.controller.direct_writes.metadata_change_log import (
    MAX_NAMED_BYTES,
    ConcurrentMetadataUpdate,
    MetadataChangeLog,
    commit_by_controller,
    commit_shared,
    decode_shared_changes,
    read_change_log,
    reject_older_decisions,
    shared_paths,
)
from signalbox.metadata.layout import SHARED_CHANGES, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import (
    Check,
    Create,
    Delete,
    Entry,
    Fence,
    FencedOut,
    Operation,
    VersionConflict,
    Write,
)
from tests.controller.cluster import Scenario

FENCE = Fence("/controller_epoch", 0)
USER = "/config/users/u"


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


async def opened(participant: Callable[[], Any]) -> Any:
    store = participant()
    await store.open_session()
    await create_roots(store)
    await store.commit([Create(FENCE.path, b"1")])
    return store


@pytest.mark.spec("F17")
def test_a_writer_that_has_not_seen_the_last_change_writes_nothing(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store = await opened(participant)
        seen = MetadataChangeLog()
        after = await commit_shared(store, [Create(USER, b"1")], FENCE, seen, [USER])
        assert after == MetadataChangeLog(1, ((1, USER),))
        with pytest.raises(ConcurrentMetadataUpdate):
            await commit_shared(store, [Write(USER, b"2")], FENCE, seen)
        assert (await store.read(USER)).data == b"1"
        log = await commit_shared(store, [Write(USER, b"2")], FENCE, MetadataChangeLog(after.version))
        assert await read_change_log(store) == log == MetadataChangeLog(2)

    run(scenario)


@pytest.mark.spec("F17", "M3")
def test_a_fenced_writer_writes_nothing(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store = await opened(participant)
        await store.commit([Write(FENCE.path, b"2")])
        with pytest.raises(FencedOut):
            await commit_shared(store, [Create(USER)], FENCE, MetadataChangeLog(), [USER])
        assert await store.read(USER) is None

    run(scenario)


def test_other_conflicts_are_not_translated_and_other_entries_need_no_change_log(
    run: Callable[[Scenario], None],
) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store = await opened(participant)
        await store.commit([Create(USER)])
        with pytest.raises(VersionConflict) as rejected:
            await commit_shared(store, [Write(USER, b"", 7)], FENCE, MetadataChangeLog())
        assert not isinstance(rejected.value, ConcurrentMetadataUpdate)
        behind = MetadataChangeLog(-5)
        assert await commit_shared(store, [Create("/admin/delete_topics/t")], FENCE, behind) is behind
        assert (await store.read(SHARED_CHANGES)).version == 0

    run(scenario)


@pytest.mark.spec("F17")
def test_the_controller_counts_its_commits_and_names_no_paths(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store = await opened(participant)
        await commit_shared(store, [Create(USER, b"1")], FENCE, MetadataChangeLog(), [USER])
        assert await commit_by_controller(store, [Create("/admin/delete_topics/t")], FENCE, 1) == 1
        assert await commit_by_controller(store, [Write(USER, b"2")], FENCE, 1) == 2
        assert await read_change_log(store) == MetadataChangeLog(2)
        with pytest.raises(ConcurrentMetadataUpdate):
            await commit_by_controller(store, [Write(USER, b"3")], FENCE, 1)

    run(scenario)


@pytest.mark.spec("F17")
def test_decisions_without_the_last_change_may_write_other_entries_only() -> None:
    reject_older_decisions([Create("/admin/delete_topics/t")])
    with pytest.raises(ConcurrentMetadataUpdate):
        reject_older_decisions([Create("/admin/delete_topics/t"), Write(USER, b"1")])
