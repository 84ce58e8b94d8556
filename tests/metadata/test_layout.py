"""Paths are Kafka's (SPEC M2). Several nodes can create the roots at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from signalbox.common.ids import TopicPartition
from signalbox.metadata import layout
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
