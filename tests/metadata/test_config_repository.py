"""Every broker's copy of the dynamic configs follows the notifications (SPEC F1)."""

from __future__ import annotations

import asyncio

from signalbox.common.clock import ManualClock
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import encode_config_change, encode_configs
from signalbox.metadata.layout import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, MetadataStore, Operation, Write
from tests.metadata.participants import run_with_stores


def notification(entity_path: str) -> Create:
    return Create(CONFIG_CHANGE_PREFIX, encode_config_change(entity_path), numbered=True)


async def change(store: MetadataStore, entity_path: str, *operations: Operation) -> None:
    await store.commit([*operations, notification(entity_path)])


class Following:
    """A repository, and the changes that it passed to its subscriber."""

    def __init__(self, store: MetadataStore, clock: ManualClock | None = None) -> None:
        self.repository = ConfigRepository(store, clock or ManualClock())
        self.changes: list[tuple[str, dict[str, str]]] = []
        self._changed = asyncio.Event()

    async def start(self) -> None:
        await self.repository.start()
        self.repository.subscribe(self._on_change)

    def _on_change(self, entity_path: str, configs: dict[str, str]) -> None:
        self.changes.append((entity_path, configs))
        self._changed.set()

    async def next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


def test_existing_configs_are_loaded_and_changes_are_followed() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        await change(writer, "topics/t", Create("/config/topics/t", encode_configs({"a": "1"})))
        await writer.commit([Create("/config/brokers/<default>", encode_configs({"d": "1"}))])
        following = Following(reader)
        await following.start()
        repository = following.repository
        assert repository.topic_config("t") == {"a": "1"}
        assert repository.broker_default_config() == {"d": "1"}
        assert (repository.topic_config("u"), repository.broker_config(3)) == ({}, {})
        await change(writer, "topics/t", Write("/config/topics/t", encode_configs({"a": "2"})))
        await following.next_change()
        await change(writer, "brokers/3", Create("/config/brokers/3", encode_configs({"b": "3"})))
        await following.next_change()
        await change(writer, "topics/t", Delete("/config/topics/t"))
        await following.next_change()
        assert following.changes == [("topics/t", {"a": "2"}), ("brokers/3", {"b": "3"}), ("topics/t", {})]
        assert set(repository.entities()) == {"brokers/<default>", "brokers/3"}
        await repository.stop()

    run_with_stores(2, scenario)


def test_nested_entities_and_notifications_without_a_change() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        following = Following(reader)
        await following.start()
        path = "/config/users/u"
        await writer.commit(
            [Create(path), Create(f"{path}/clients"), Create(f"{path}/clients/c", encode_configs({"q": "1"}))]
        )
        await writer.commit([notification("users/u"), notification("users/u/clients/c")])
        await following.next_change()
        assert following.changes == [("users/u/clients/c", {"q": "1"})]
        await writer.commit([notification("users/u/clients/c")])  # no new value: the subscriber is called all the same
        await following.next_change()
        assert following.changes == [("users/u/clients/c", {"q": "1"})] * 2
        await following.repository.stop()

    run_with_stores(2, scenario)


def test_bad_entries_are_skipped() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        await writer.commit([Create("/config/topics/t", b"?")])
        following = Following(reader)
        await following.start()
        await writer.commit([Create(CONFIG_CHANGE_PREFIX, b"?", numbered=True), notification("topics/t")])
        await change(writer, "topics/u", Create("/config/topics/u", encode_configs({"a": "1"})))
        await following.next_change()
        assert following.changes == [("topics/u", {"a": "1"})]
        await following.repository.stop()

    run_with_stores(2, scenario)


def test_a_new_topic_can_be_read_before_its_notification() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        following = Following(reader)
        await following.start()
        await writer.commit([Create("/config/topics/t", encode_configs({"a": "1"}))])
        assert following.repository.topic_config("t") == {}
        await following.repository.load(["topics/t", "topics/none"])
        assert following.repository.topic_config("t") == {"a": "1"}
        await following.repository.stop()

    run_with_stores(2, scenario)


def test_after_missed_notifications_that_were_removed_everything_is_loaded() -> None:
    async def scenario(shared: SharedEntries, writer: MemoryMetadataStore, reader: MemoryMetadataStore) -> None:
        await change(writer, "topics/t", Create("/config/topics/t", encode_configs({"a": "1"})))
        await change(writer, "topics/u", Create("/config/topics/u", encode_configs({"a": "1"})))
        following = Following(reader)
        await following.start()
        reader.pause()
        await change(writer, "topics/t", Write("/config/topics/t", encode_configs({"a": "2"})))
        await change(writer, "topics/u", Delete("/config/topics/u"))
        old = await writer.children(CONFIG_CHANGES)
        await writer.commit([Delete(f"{CONFIG_CHANGES}/{name}") for name in old])
        await change(writer, "brokers/1", Create("/config/brokers/1", encode_configs({"b": "1"})))
        reader.resume()
        while following.repository.broker_config(1) != {"b": "1"} or following.repository.topic_config("u"):
            await following.next_change()
        assert following.repository.topic_config("t") == {"a": "2"}
        await following.repository.stop()

    run_with_stores(2, scenario)


def test_cached_configs_are_used_while_the_store_is_unavailable() -> None:
    async def run() -> None:
        shared = SharedEntries()
        store = MemoryMetadataStore(shared)
        silent = ConfigRepository(store, ManualClock())
        await store.close()
        assert await silent.current() == {}

    asyncio.run(run())
