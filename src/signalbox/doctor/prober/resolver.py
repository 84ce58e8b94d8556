"""Name lookups that cannot stop the doctor: each runs in a daemon thread of its own, and so many at a time.

A lookup cannot be cancelled, and threads of an executor are awaited when the process ends: a name server that does not
respond would keep the doctor alive after its report. A thread that hangs keeps its slot, so the number of threads has a
bound; at the end of the run the names that have no slot yet are given up.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from math import inf

Lookup = Callable[[str, int], list[str]]
_CONCURRENT_LOOKUPS = 32


class Unresolved(Exception):
    """The name has no address; the text says why."""


class LookupNotBegun(Exception):
    """The run ended before there was a thread for this name: nothing is known about it."""


def look_up(host: str, port: int) -> list[str]:
    """Every IP address of a name, by the operating system. Blocks; OSError or UnicodeError if there is none."""
    rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


class Resolver:
    """All IP addresses of a name, looked up once per run. `lookup` replaces the operating system's. `end`: when the run
    ends, in the event loop's time."""

    def __init__(self, timeout_ms: int, lookup: Lookup = look_up, end: float = inf) -> None:
        self._timeout_s = timeout_ms / 1000
        self._end = end
        self._lookup = lookup
        self._slots = asyncio.Semaphore(_CONCURRENT_LOOKUPS)
        self._results: dict[str, asyncio.Task[list[str]]] = {}

    async def resolve(self, host: str, port: int) -> list[str]:
        """IP literals are returned as they are. Unresolved without an address, LookupNotBegun without the time."""
        if is_ip_literal(host):
            return [host]
        task = self._results.get(host)
        if task is None:
            task = self._results[host] = asyncio.get_running_loop().create_task(self._resolve(host, port))
        return await asyncio.shield(task)

    async def _resolve(self, host: str, port: int) -> list[str]:
        await self._take_slot()
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
        return ips

    async def _take_slot(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(None if self._end == inf else self._end):
                await self._slots.acquire()
        except TimeoutError:
            raise LookupNotBegun from None
        if loop.time() >= self._end:
            self._slots.release()
            raise LookupNotBegun

    async def _in_thread(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[str]] = loop.create_future()

        def finish(ips: list[str], error: Exception | None) -> None:
            self._slots.release()
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
