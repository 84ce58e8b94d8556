"""Free TCP ports of 127.0.0.1, single or consecutive.

All are below the range from which Linux takes the ports of outgoing connections, so that no connection can occupy a
broker's port while the broker restarts. Parallel workers of pytest-xdist use ranges of their own: a port that one
worker has chosen is not chosen by another before it is bound.
"""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from random import Random

_LOWEST, _HIGHEST = 20_000, 32_000
_TRIES = 200


def consecutive_ports(count: int, random: Random) -> int:
    """The first of `count` consecutive ports that are free now. OSError if there are none."""
    lowest, highest = port_range(
        os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    )
    for _ in range(_TRIES):
        first = random.randrange(lowest, highest - count)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise OSError(f"no {count} consecutive free ports between {lowest} and {highest}")


def free_ports(count: int) -> list[int]:
    """`count` ports that are free now."""
    first = consecutive_ports(count, Random())
    return list(range(first, first + count))


def port_range(worker: str, workers: int) -> tuple[int, int]:
    """The lowest port of a worker ("gw0", "gw1", ...) among `workers`, and the port after its highest."""
    size = (_HIGHEST - _LOWEST) // workers
    lowest = _LOWEST + size * int(worker.removeprefix("gw"))
    return lowest, lowest + size
