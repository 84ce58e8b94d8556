"""Files that a configuration names: keystores, login modules, the configuration itself. All of them are small; the
limit prevents that a device or a wrong name fills the memory."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from signalbox.common.limits import MAX_CONFIG_FILE_BYTES


def read_small_file(path: str | Path) -> bytes:
    """The whole file. OSError, also "File too large" above the limit."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_CONFIG_FILE_BYTES + 1)
    except ValueError as error:  # a NUL character in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    if len(data) > MAX_CONFIG_FILE_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data
