from pathlib import Path

from signalbox.storage.directories.clean_shutdown import UNKNOWN_BROKER_EPOCH, read_and_remove_marker, write_marker
from signalbox.storage.files.file_system import RealFileSystem


def test_the_marker_counts_once(tmp_path: Path) -> None:
    write_marker(RealFileSystem(), str(tmp_path), 7)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":7}'
    assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) == 7
    assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) is None


def test_a_marker_without_an_epoch_is_one_all_the_same(tmp_path: Path) -> None:
    for content in (b"", b"[]", b'{"version":0}', b'{"version":0,"brokerEpoch":"x"}'):
        (tmp_path / ".kafka_cleanshutdown").write_bytes(content)
        assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) == UNKNOWN_BROKER_EPOCH
