"""A topic that is compacted: its size, and when the cleaner is done, by the files of its leader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.compaction.compacted_topic import CompactedTopic

from bench.compaction import compacted_topic
from signalbox.common.ids import TopicPartition
from signalbox.storage.files.checkpoint_file import offset_lines, write_lines
from signalbox.storage.files.file_names import CLEANER_OFFSET_FILE
from signalbox.storage.files.file_system import RealFileSystem


class Disk:
    """The part of a side that a topic needs: node 2 leads everything."""

    bootstrap = ""

    def __init__(self, folder: Path) -> None:
        self.log_dirs = {2: folder}
        self.configs: dict[str, str] = {}

    def create_topic(self, name: str, partitions: int, replicas: int, configs: dict[str, str]) -> None:
        self.configs = configs
        folder = self.log_dirs[2] / f"{name}-0"
        folder.mkdir()
        for base_offset, size_bytes in ((0, 1_000), (40, 900), (81, 7)):
            (folder / f"{base_offset:020}.log").write_bytes(bytes(size_bytes))

    def leader(self, topic: str) -> int:
        return 2


def test_all_segments_but_the_active_one_are_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[Any] = []
    monkeypatch.setattr(compacted_topic, "run_client", lambda side, *arguments: filled.append(arguments))
    disk = Disk(tmp_path)
    topic = CompactedTopic(disk, 100, 5)  # type: ignore[arg-type]
    assert disk.configs["cleanup.policy"] == "compact"
    assert filled == [("bench.compaction.clients", "", topic.name, 100, 5)]
    assert (topic.leader, topic.size_bytes) == (2, 1_900)
    for offset, is_clean in ((40, False), (81, True)):
        checkpoint = str(tmp_path / CLEANER_OFFSET_FILE)
        write_lines(RealFileSystem(), checkpoint, offset_lines({TopicPartition(topic.name, 0): offset}))
        assert topic.is_clean is is_clean


def test_a_broker_that_has_not_compacted_yet_has_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted_topic, "run_client", lambda side, *arguments: None)
    assert not CompactedTopic(Disk(tmp_path), 100, 5).is_clean  # type: ignore[arg-type]
