"""Every broker's copy of the ACLs follows the notifications (SPEC F1)."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.acl_repository import AclRepository
from signalbox.metadata.entries.acl_entries import acl_path, change_path_and_data, encode_acls
from signalbox.metadata.layout import ACL_CHANGE_PREFIX
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, MetadataStore, Operation, Write
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_view import AclIndex
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.metadata.participants import run_with_stores

T = ResourcePattern(ResourceType.TOPIC, "t")
P = ResourcePattern(ResourceType.GROUP, "p-", PatternType.PREFIXED)


def allow(user: str) -> AccessControlEntry:
    return AccessControlEntry(f"User:{user}", "*", AclOperation.READ, AclPermission.ALLOW)


def create(pattern: ResourcePattern, *users: str) -> Create:
    return Create(acl_path(pattern), encode_acls(map(allow, users)))


async def change(store: MetadataStore, pattern: ResourcePattern, operation: Operation) -> None:
    path, data = change_path_and_data(pattern)
    await store.commit([operation, Create(path, data, numbered=True)])


class Followed:
    """A repository, and the indexes that it passed to its callback."""

    def __init__(self, store: MetadataStore) -> None:
        self.indexes: list[AclIndex] = []
        self._changed = asyncio.Event()
        self.repository = AclRepository(store, ManualClock(), ImmediateScheduler(), self._on_change)

    def _on_change(self, index: AclIndex) -> None:
        self.indexes.append(index)
        self._changed.set()

    async def next_acls(self) -> set[AclBinding]:
        """The ACLs after the next notification."""
        await self._changed.wait()
        self._changed.clear()
        return set(self.indexes[-1])


@pytest.mark.spec("F1", "M2")
def test_existing_acls_are_loaded_and_changes_are_followed() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        first = Followed(writer)
        await first.repository.start()
        assert await first.next_acls() == set()
        await change(writer, T, create(T, "a"))
        followed = Followed(reader)
        await followed.repository.start()
        assert await followed.next_acls() == {AclBinding(T, allow("a"))}
        await change(writer, P, create(P, "b"))
        assert await followed.next_acls() == {AclBinding(T, allow("a")), AclBinding(P, allow("b"))}
        await change(writer, T, Write(acl_path(T), encode_acls([allow("c")])))
        assert await followed.next_acls() == {AclBinding(T, allow("c")), AclBinding(P, allow("b"))}
        await change(writer, P, Delete(acl_path(P)))
        assert await followed.next_acls() == {AclBinding(T, allow("c"))}
        stamps = [index.stamp for index in followed.indexes]
        assert stamps == sorted(set(stamps)), "every index has another stamp than the one before"
        assert followed.repository.index is followed.indexes[-1]
        await first.repository.stop()
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_asked_for_now_it_shows_what_is_stored_now() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        await change(writer, T, create(T, "a"))
        assert set(await followed.repository.current()) == {AclBinding(T, allow("a"))}
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_when_the_store_is_silent_it_shows_what_it_knows() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        await change(writer, T, create(T, "a"))
        await followed.repository.current()
        await reader.close()
        assert len(await followed.repository.current()) == 1
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_corrupt_acls_leave_the_previous_ones_in_effect() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        await change(writer, T, create(T, "a"))
        await followed.repository.current()
        await change(writer, T, Write(acl_path(T), b"?"))
        await writer.commit([Create(ACL_CHANGE_PREFIX, b"?", numbered=True)])
        await change(writer, P, create(P, "b"))
        found = await followed.repository.current()
        assert set(found) == {AclBinding(T, allow("a")), AclBinding(P, allow("b"))}
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_after_missed_notifications_that_were_removed_everything_is_loaded() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        await change(writer, T, create(T, "a"))
        await followed.repository.current()
        reader.pause()
        path, data = change_path_and_data(T)
        await writer.commit([Delete(acl_path(T)), create(P, "b")])
        await writer.commit([Delete(f"{path}0000000000")])
        await writer.commit([Create(path, data, numbered=True)] * 2)
        await writer.commit([Delete(f"{path}0000000001")])
        reader.resume()
        assert set(await followed.repository.current()) == {AclBinding(P, allow("b"))}
        await followed.repository.stop()

    run_with_stores(2, scenario)


def test_many_changes_at_once_are_read_in_one_go() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        followed = Followed(reader)
        await followed.repository.start()
        patterns = [ResourcePattern(ResourceType.TOPIC, f"t{number}") for number in range(100)]
        notifications = [Create(path, data, numbered=True) for path, data in map(change_path_and_data, patterns)]
        await writer.commit([*(create(pattern, "a") for pattern in patterns), *notifications])
        assert len(await followed.repository.current()) == 100
        assert len(followed.indexes) == 2, "one index for all of them"
        await followed.repository.stop()

    run_with_stores(2, scenario)
