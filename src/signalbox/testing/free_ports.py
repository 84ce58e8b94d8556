"""Ports that nobody has: any, for who is started once, or neighbouring ones that stay (a broker that comes back must be
found where it was, so the system must not choose anew)."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from random import Random

# Below the range from which Linux takes ports of outgoing connections: none of those can sit on a broker's port.
_LOWEST, _HIGHEST = 20_000, 32_000
_TRIES = 200


def neighbouring_ports(count: int, random: Random) -> int:
    """The first of `count` neighbouring ports that nobody listens on now. OSError when none are found."""
    for _ in range(_TRIES):
        first = random.randrange(_LOWEST, _HIGHEST - count)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise OSError(f"no {count} neighbouring free ports between {_LOWEST} and {_HIGHEST}")


def free_ports(count: int) -> list[int]:
    """So many ports that nobody listens on now, anywhere."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [sock.getsockname()[1] for sock in taken]
