"""Logs of topics without an entry in the store are logged, others are not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition, new_uuid, uuid_text
from signalbox.metadata.image import MetadataImage, TopicImage
from signalbox.metadata.layout import create_roots, topic_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from signalbox.server.store.topics_without_entry import log_topics_without_entry
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager


@pytest.mark.spec("M3")
def test_topics_of_another_store_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    known, gone, before, now = (new_uuid() for _ in range(4))
    logs = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
    logs.start("cluster", 1)
    for name, index, topic_id in (("known", 0, known), ("gone", 0, gone), ("gone", 1, gone), ("again", 0, before)):
        logs.create(TopicPartition(name, index), topic_id, LogConfig())
    topics = {name: TopicImage(name, topic_id, {}) for name, topic_id in (("known", known), ("again", now))}

    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await store.commit([Create(topic_path(name), b"{}") for name in ("known", "again", "created-later")])
        await log_topics_without_entry(store, logs, MetadataImage({}, topics, {}))

    asyncio.run(scenario())
    logs.close()
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [warning.partition("(")[2].partition(")")[0] for warning in warnings] == [
        f"topic=again, topic id={uuid_text(before)}, partitions=again-0",
        f"topic=gone, topic id={uuid_text(gone)}, partitions=gone-0..1",
    ]
