"""A network of its own for a tour: the pages use fixed ports, and the machine may already use them."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence

_INSIDE = "SIGNALBOX_TOUR_NETWORK"
_SIOCSIFFLAGS = 0x8914
_UP_AND_LOOPBACK = 0x1 | 0x8


def enter(arguments: Sequence[str]) -> bool:
    """Starts this program again in a network namespace and, there, opens its loopback interface.

    Returns False if the kernel or the container gives no namespace: the tour then uses the machine's own ports.
    """
    if os.environ.get(_INSIDE):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _UP_AND_LOOPBACK))
        return True
    return _start_again(arguments)


def _start_again(arguments: Sequence[str]) -> bool:
    unshare = shutil.which("unshare")
    if unshare is None or not _is_allowed(unshare):
        return False
    os.environ[_INSIDE] = "1"
    return os.execv(unshare, [unshare, "-rn", sys.executable, "-m", "tools.tour", *arguments])


def _is_allowed(unshare: str) -> bool:
    return subprocess.run([unshare, "-rn", "true"], capture_output=True, check=False).returncode == 0
