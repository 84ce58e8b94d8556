from pathlib import Path

import pytest

from signalbox.common.ids import ZERO_UUID, new_uuid, uuid_text
from signalbox.storage.directories.partition_metadata import read_topic_id, write_topic_id
from signalbox.storage.files.file_system import RealFileSystem


def test_the_topic_id_is_kept_in_kafkas_form(tmp_path: Path) -> None:
    topic_id = new_uuid()
    write_topic_id(RealFileSystem(), str(tmp_path), topic_id)
    text = (tmp_path / "partition.metadata").read_text()
    assert text == f"version: 0\ntopic_id: {uuid_text(topic_id)}\n"
    assert read_topic_id(str(tmp_path)) == topic_id


@pytest.mark.parametrize("text", [None, "", "version: 0\n", "version: 0\ntopic_id: short\n"])
def test_without_a_readable_file_the_id_is_zero(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "partition.metadata").write_text(text)
    assert read_topic_id(str(tmp_path)) == ZERO_UUID
