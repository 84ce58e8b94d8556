from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.storage.files.checkpoint_file import CheckpointFault, offset_lines, read_lines, read_offsets, write_lines
from signalbox.storage.files.file_system import RealFileSystem

pytestmark = pytest.mark.spec("D2")

OFFSETS = {TopicPartition("a-b", 0): 5, TopicPartition("c", 12): 2**40}


def test_offsets_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    path = str(tmp_path / "recovery-point-offset-checkpoint")
    write_lines(RealFileSystem(), path, offset_lines(OFFSETS), sync=True)
    assert Path(path).read_text() == "0\n2\na-b 0 5\nc 12 1099511627776\n"
    assert read_offsets(path) == OFFSETS


def test_no_file_is_no_offsets(tmp_path: Path) -> None:
    assert read_offsets(str(tmp_path / "nothing")) == {}


@pytest.mark.parametrize(
    "text",
    ["", "0\n", "1\n0\n", "0\n2\na 0 5\n", "0\n1\na 0\n", "0\nx\n", "0\n1\na zero 5\n"],
    ids=["empty", "no count", "version", "count lies", "short line", "count no number", "no number"],
)
def test_the_error_for_a_corrupt_file_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(CheckpointFault, match="broken"):
        read_offsets(str(path))


def test_binary_rubbish_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointFault, match="not text"):
        read_lines(str(path), 2)
