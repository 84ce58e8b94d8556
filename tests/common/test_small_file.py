"""Files that a configuration names are read completely, or rejected."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from signalbox.common.limits import MAX_CONFIG_FILE_BYTES
from signalbox.common.small_file import read_small_file


def test_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_bytes(b"x" * MAX_CONFIG_FILE_BYTES)
    assert len(read_small_file(file)) == MAX_CONFIG_FILE_BYTES
    with file.open("ab") as more:
        more.write(b"x")
    with pytest.raises(OSError, match="File too large"):
        read_small_file(str(file))


@pytest.mark.parametrize(
    ("path", "number"),
    [("/dev/zero", errno.EFBIG), ("/no/such", errno.ENOENT), ("/tmp", errno.EISDIR), ("a\0", errno.EINVAL)],
)
def test_unreadable_paths_are_rejected(path: str, number: int) -> None:
    with pytest.raises(OSError) as rejected:
        read_small_file(path)
    assert rejected.value.errno == number
