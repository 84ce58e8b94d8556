"""A file system so small that a test can fill it: a real full disk, not a simulated one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """Mounted at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Fills it to the last byte."""
        with self._filler.open("ab", buffering=0) as file:
            while size_bytes := shutil.disk_usage(self.path).free:
                file.write(b"x" * size_bytes)
            with pytest.raises(OSError, match="No space left"):
                file.write(b"x" * 4096)

    def make_room(self) -> None:
        """Frees the space that `fill` used."""
        self._filler.unlink()


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A file system in memory, mounted below `folder`. The test is skipped if neither root nor sudo may mount."""
    path = folder / "small-disk"
    path.mkdir()
    options = f"size={size_bytes},uid={os.geteuid()},gid={os.getegid()}"
    mounted = _as_root("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path))
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        _as_root("umount", "--lazy", str(path)).check_returncode()


def _as_root(*command: str) -> subprocess.CompletedProcess[str]:
    who = [] if os.geteuid() == 0 else ["sudo", "-n"]
    return subprocess.run([*who, *command], capture_output=True, text=True)
