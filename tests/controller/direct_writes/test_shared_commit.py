"""Commits of entries that more than one broker may write, in one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from signalbox.controller.direct_writes.metadata_change_log import MetadataChangeLog, read_change_log
from signalbox.controller.direct_writes.shared_commit import (
    ConcurrentMetadataUpdate,
    commit_by_controller,
    commit_shared,
    reject_older_decisions,
)
from signalbox.metadata.layout import SHARED_CHANGES, create_roots
from signalbox.metadata.store.port import Create, Fence, FencedOut, VersionConflict, Write
from tests.controller.cluster import Scenario

FENCE = Fence("/controller_epoch", 0)
USER = "/config/users/u"


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
