"""Ends a command early when its client cannot connect at all.

A client retries until its deadline: a program can wait for a broker that restarts. A person who mistyped a port should
not. So long as the client has no connection, its failures are observed; a failure that lasts for a short while ends the
command. After the first connection nothing is observed any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost

T = TypeVar("T")

_INTERVAL_S = 0.05
_LASTING_S = 0.4  # longer than the attempts at the other brokers of a cluster in which one is down


async def watched(client: ClusterClient, work: Awaitable[T]) -> T:
    """The result of `work`; the client's last failure if it has not connected to any broker."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    failed_since: float | None = None
    try:
        while not task.done() and not client.metadata_updater.pool.connections():
            await asyncio.wait({task}, timeout=_INTERVAL_S)
            failure = _failure(client)
            if failure is None:
                failed_since = None
            elif failed_since is None:
                failed_since = loop.time()
            elif not task.done() and loop.time() - failed_since >= _LASTING_S:
                raise failure
        return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _failure(client: ClusterClient) -> ClientFailure | None:
    failure = client.metadata_updater.last_failure
    if client.metadata_updater.pool.connections() or not isinstance(failure, ConnectFailed | ConnectionLost):
        return None
    return failure
