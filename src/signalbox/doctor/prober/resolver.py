"""Name lookups that cannot stop the doctor: each runs in a daemon thread of its own, a few at a time.

A lookup cannot be cancelled, and threads of an executor are awaited when the process ends: a name server that does not
respond would keep the doctor alive after its report.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address

Lookup = Callable[[str, int], list[str]]
_CONCURRENT_LOOKUPS = 16
_MAX_IPS = 16


class Unresolved(Exception):
    """The name has no address; the text says why."""


def look_up(host: str, port: int) -> list[str]:
    """Every IP address of a name, by the operating system. Blocks; OSError or UnicodeError if there is none."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


class Resolver:
    """All IP addresses of a name, looked up once per run. `lookup` replaces the operating system's."""

    def __init__(self, timeout_ms: int, lookup: Lookup = look_up) -> None:
        self._timeout_s = timeout_ms / 1000
        self._lookup = lookup
        self._slots = asyncio.Semaphore(_CONCURRENT_LOOKUPS)
        self._results: dict[str, asyncio.Task[list[str]]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        """At most 16 addresses. IP literals are returned as they are. Unresolved without an address."""
        if is_ip_literal(host):
            return [host]
        task = self._results.get(host)
        if task is None:
            task = self._results[host] = asyncio.get_running_loop().create_task(self._resolve(host, port))
        return await asyncio.shield(task)

    async def _resolve(self, host: str, port: int) -> list[str]:
        async with self._slots:
            try:
                async with asyncio.timeout(self._timeout_s):
                    ips = await self._in_thread(host, port)
            except TimeoutError:
                raise Unresolved(f"the name server did not respond within {self._timeout_s:g} s") from None
            except UnicodeError:
                raise Unresolved("it is no host name") from None
            except (OSError, ValueError) as error:
                raise Unresolved(str(getattr(error, "strerror", None) or error)) from None
        if not ips:
            raise Unresolved("the name has no address")
        return ips[:_MAX_IPS]

    async def _in_thread(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[str]] = loop.create_future()

        def finish(ips: list[str], error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(ips)

        def run() -> None:
            ips: list[str] = []
            failure: Exception | None = None
            try:
                ips = self._lookup(host, port)
            except Exception as error:
                failure = error
            try:
                loop.call_soon_threadsafe(finish, ips, failure)
            except RuntimeError:
                pass  # the loop is closed: nothing waits

        threading.Thread(target=run, name="doctor-lookup", daemon=True).start()
        return await future


def is_ip_literal(host: str) -> bool:
    """Whether `host` is an IP address and not a name; an IPv6 zone is allowed."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
