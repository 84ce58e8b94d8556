import os
from pathlib import Path

from signalbox.common.file_slice import FileSlice


def test_reads_its_stretch_and_knows_its_length(tmp_path: Path) -> None:
    file = tmp_path / "segment"
    file.write_bytes(b"0123456789")
    fd = os.open(file, os.O_RDONLY)
    try:
        piece = FileSlice(fd, 2, 5)
        assert len(piece) == 5
        assert piece.read() == b"23456"
        assert "position=2" in repr(piece)
    finally:
        os.close(fd)
