"""Free TCP ports of 127.0.0.1, single or consecutive.

All are below the range from which Linux takes the ports of outgoing connections, so that no connection can occupy a
broker's port while the broker restarts. A process takes its ports from a block that it has locked until it ends, so
that no other process that uses this module chooses a port between the choice and the bind.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

_PORTS = range(20_000, 32_000)
_BLOCK_SIZE = 500
_TRIES = 200


def consecutive_ports(count: int, random: Random) -> int:
    """The first of `count` consecutive ports that are free now. OSError if there are none."""
    ports = _own_block(_lock_folder()).ports if count < _BLOCK_SIZE else _PORTS
    for _ in range(_TRIES):
        first = random.randrange(ports.start, ports.stop - count)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise OSError(f"no {count} consecutive free ports between {ports.start} and {ports.stop}")


def free_ports(count: int) -> list[int]:
    """`count` ports that are free now."""
    first = consecutive_ports(count, Random())
    return list(range(first, first + count))


class Block(NamedTuple):
    """Ports, and the descriptor of the lock file (-1: not locked, other processes may choose them too)."""

    ports: range
    lock: int


def lock_block(folder: Path) -> Block:
    """Locks a block that no other process has locked. If there is none: all ports, not locked."""
    folder.mkdir(mode=0o700, exist_ok=True)
    firsts = list(_PORTS[::_BLOCK_SIZE])
    Random().shuffle(firsts)
    for first in firsts:
        lock = os.open(folder / str(first), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return Block(range(first, first + _BLOCK_SIZE), lock)
    return Block(_PORTS, -1)


_own_block = cache(lock_block)  # until the process ends
os.register_at_fork(after_in_child=_own_block.cache_clear)  # the block is the parent's


def _lock_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"signalbox-ports-{os.getuid()}"
