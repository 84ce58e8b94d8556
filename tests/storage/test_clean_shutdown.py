from pathlib import Path

from signalbox.storage.clean_shutdown import take_marker, write_marker
from signalbox.storage.file_system import RealFileSystem


def test_the_marker_counts_once(tmp_path: Path) -> None:
    write_marker(RealFileSystem(), str(tmp_path), 7)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":7}'
    assert take_marker(RealFileSystem(), str(tmp_path))
    assert not take_marker(RealFileSystem(), str(tmp_path))
