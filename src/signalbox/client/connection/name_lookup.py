"""Lookups of host names by the operating system, for the clients, the brokers' channels and the doctor.

A lookup cannot be cancelled, and threads of an executor are awaited when a process ends: a name server that does not
respond would take the threads that TLS handshakes need, and keep a process alive after its work. So each lookup has a
daemon thread of its own. IP literals need none.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address

Lookup = Callable[[str, int], list[str]]


def look_up(host: str, port: int) -> list[str]:
    """Every IP address of a name, each once, by the operating system. Blocks; OSError or ValueError if there is
    none."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


async def look_up_in_thread(
    host: str, port: int, lookup: Lookup = look_up, ended: Callable[[], None] = lambda: None
) -> list[str]:
    """What `lookup` returns or raises; OSError without a thread. `ended` is called in the event loop when the thread
    could not begin or has ended, which may be long after this call was cancelled."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[list[str]] = loop.create_future()

    def finish(ips: list[str], failure: Exception | None) -> None:
        ended()
        if result.done():
            return
        if failure is not None:
            result.set_exception(failure)
        else:
            result.set_result(ips)

    def run() -> None:
        ips: list[str] = []
        failure: Exception | None = None
        try:
            ips = lookup(host, port)
        except Exception as error:
            failure = error
        try:
            loop.call_soon_threadsafe(finish, ips, failure)
        except RuntimeError:
            pass  # the loop is closed: nothing waits

    try:
        threading.Thread(target=run, name=f"name-lookup {host}"[:60], daemon=True).start()
    except RuntimeError as error:
        ended()
        raise OSError(errno.EAGAIN, f"no thread for the lookup: {error}") from error
    return await result


def is_ip_literal(host: str) -> bool:
    """Whether `host` is an IP address and not a name; an IPv6 zone is allowed."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
