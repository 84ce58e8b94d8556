import errno
import os

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import StartError, reason


def test_every_fault_on_its_line() -> None:
    faults = [ConfigFault("log.dirs", "/a", "is full", "Make room"), ConfigFault("node.id", "", "is missing", "Set it")]
    rejected = StartError(faults)
    assert str(rejected) == "log.dirs (/a): is full. Make room\nnode.id: is missing. Set it"
    assert rejected.faults == tuple(faults)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOENT, os.strerror(errno.ENOENT), "/a"), "/a: No such file or directory"),
        (OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)), "Address already in use"),
        (OSError("AF_UNIX path too long"), "AF_UNIX path too long"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_reasons_are_words(error: Exception, text: str) -> None:
    assert reason(error) == text
