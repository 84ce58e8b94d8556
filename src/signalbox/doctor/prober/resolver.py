"""The name lookups of one run of the doctor: each name once, and so many at a time.

A lookup that hangs keeps its slot, so the number of threads has a bound (`client/connection/name_lookup.py`); at the
end of the run the names that have no slot yet are given up.
"""

from __future__ import annotations

import asyncio
from math import inf

from signalbox.client.connection.name_lookup import Lookup, is_ip_literal, look_up, look_up_in_thread

__all__ = ["Lookup", "LookupNotBegun", "Resolver", "Unresolved", "look_up"]

_CONCURRENT_LOOKUPS = 32


class Unresolved(Exception):
    """The name has no address; the text says why."""


class LookupNotBegun(Exception):
    """The run ended before there was a thread for this name: nothing is known about it."""


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
                ips = await look_up_in_thread(host, port, self._lookup, self._slots.release)
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
