"""Paths are Kafka's (SPEC M2). Several nodes can create the roots at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.metadata import layout
from signalbox.metadata.layout import entries_below, unknown_entries_in
from signalbox.metadata.store.port import Entry
from signalbox.metadata.store.sqlite import SqliteMetadataStore


def test_paths_are_kafkas() -> None:
    assert layout.broker_id_path(1) == "/brokers/ids/1"
    assert layout.topic_path("t") == "/brokers/topics/t"
    assert layout.partitions_path("t") == "/brokers/topics/t/partitions"
    assert layout.partition_path("t", 2) == "/brokers/topics/t/partitions/2"
    assert layout.partition_state_path("t", 2) == "/brokers/topics/t/partitions/2/state"
    assert layout.delete_topic_path("t") == "/admin/delete_topics/t"
    assert layout.CONFIG_CHANGE_PREFIX == "/config/changes/config_change_"


def test_partition_states_are_distinguished_from_other_entries() -> None:
    for partition in (TopicPartition("t", 0), TopicPartition("a.b_c-d", 1234)):
        assert layout.partition_of_state(layout.partition_state_path(*partition)) == partition
    others = (layout.topic_path("t"), layout.partition_path("t", 0), layout.topic_path("t") + "/partitions/x/state")
    assert [layout.partition_of_state(path) for path in (*others, layout.SHARED_CHANGES)] == [None] * 4


def test_several_create_the_roots_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        stores = [SqliteMetadataStore(tmp_path / "m.db") for _ in range(3)]
        await asyncio.gather(*(layout.create_roots(store) for store in stores))
        await layout.create_roots(stores[0], ["/brokers", "/kafka-acl"])
        assert set(await stores[0].read_tree("/")) == {"/", "/kafka-acl", *layout.ROOTS}
        for store in stores:
            await store.close()

    asyncio.run(scenario())


def test_roots_name_parents_before_children() -> None:
    seen = {"/"}
    for path in layout.ROOTS:
        assert (path.rpartition("/")[0] or "/") in seen
        seen.add(path)


ENTRY = Entry(None, 0, 1, 0)


@pytest.mark.parametrize(
    "path",
    [
        "/brokers/topics",
        "/brokers/topics/t/partitions/10/state",
        "/admin/delete_topics/t",
        "/config/topics/t",
        "/config/users/a/clients/<default>",
        "/delegation_token/tokens/t",
        "/signalbox_forwarded/1-2-3",
    ],
)
def test_entries_of_the_layout_are_not_unknown(path: str) -> None:
    assert unknown_entries_in({path: ENTRY}) == ()


@pytest.mark.parametrize(
    "path",
    [
        "/brokers/topics/t/note",
        "/brokers/topics/t/partitions/x",
        "/brokers/topics/t/partitions/01",
        "/brokers/topics/t/partitions/0/note",
        "/brokers/topics/t/partitions/0/state/note",
        "/admin/delete_topics/t/note",
        "/config/topics/t/note",
        "/config/users/a/note",
        "/config/users/a/clients/b/note",
        "/delegation_token/tokens/t/note",
        "/signalbox_forwarded/1-2-3/note",
    ],
)
def test_other_entries_below_its_folders_are_unknown(path: str) -> None:
    assert unknown_entries_in({path: ENTRY}) == (path,)


def test_the_deepest_unknown_entry_comes_first() -> None:
    tree = dict.fromkeys(("/brokers/topics/t/a", "/brokers/topics/t/a/b", "/brokers/topics/tt/a"), ENTRY)
    unknown = unknown_entries_in(tree, {})
    assert list(entries_below("/brokers/topics/t", unknown)) == ["/brokers/topics/t/a/b", "/brokers/topics/t/a"]
