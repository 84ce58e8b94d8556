"""Ends a command early when its client cannot connect, and says which connection is missing while it waits.

A client retries until its deadline: a program can wait for a broker that restarts. A person who mistyped a port should
not. So long as the client has no connection, its failures are observed; a failure that lasts for a short while ends the
command. After the first connection a command may last for hours, and a broker may be away: one that is missing for as
long as a call may take is a note. But a broker that has reached a limit of connections, and closes one that the command
needs while it keeps the others, ends the command: nothing would come.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, FurtherConnectionClosed

T = TypeVar("T")

_STARTS_OVER = "Rebootstrapping from"  # `client/cluster/metadata_updater.py`
_INTERVAL_S = 0.05
_LASTING_S = 0.4  # longer than the attempts at the other brokers of a cluster in which one is down
_LATER_INTERVAL_S = 0.25
_LIMIT_LASTING_S = 1.0  # longer than a broker takes that stops: it closes new connections before the old ones


async def watched(client: ClusterClient, work: Awaitable[T]) -> T:
    """The result of `work`; the client's last failure if it has not connected to any broker, FurtherConnectionClosed if
    a broker is at a limit of connections."""
    task = asyncio.ensure_future(work)
    try:
        with held_warnings():
            await _until_connected(client, task)
            if task.done():
                return await task
        await _until_done(client, task)
        return await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@contextmanager
def held_warnings() -> Iterator[None]:
    """Holds the client's warnings that it starts over until the block has ended. An error whose text has the reason of
    a warning takes its place: a person would read the same sentence twice."""
    logger = logging.getLogger("signalbox.client")
    held: list[logging.LogRecord] = []

    def passes(record: logging.LogRecord) -> bool:
        is_held = isinstance(record.msg, str) and record.msg.startswith(_STARTS_OVER)
        if is_held:
            held.append(record)
        return not is_held

    error_text = ""
    logger.addFilter(passes)
    try:
        yield
    except Exception as error:
        error_text = str(error)
        raise
    finally:
        logger.removeFilter(passes)
        for record in held:
            if str((record.args or ("",))[0]) not in error_text:  # type: ignore[index]
                logger.handle(record)


async def _until_connected(client: ClusterClient, task: asyncio.Future[T]) -> None:
    loop = asyncio.get_running_loop()
    failed_since: float | None = None
    while not task.done() and not client.metadata_updater.pool.connections():
        await asyncio.wait({task}, timeout=_INTERVAL_S)
        failure = _failure(client)
        if failure is None:
            failed_since = None
        elif failed_since is None:
            failed_since = loop.time()
        elif not task.done() and loop.time() - failed_since >= _LASTING_S:
            raise failure


async def _until_done(client: ClusterClient, task: asyncio.Future[T]) -> None:
    loop = asyncio.get_running_loop()
    failing = client.metadata_updater.pool.failing
    noted: set[str] = set()
    while not task.done():
        await asyncio.wait({task}, timeout=_LATER_INTERVAL_S)
        for failure in failing.lasting(loop.time(), _LIMIT_LASTING_S):
            if isinstance(failure, FurtherConnectionClosed) and not task.done():
                raise failure
        for failure in failing.lasting(loop.time(), client.settings.api_timeout_ms / 1000):
            if str(failure.address) not in noted:
                noted.add(str(failure.address))
                typer.echo(f"still waiting for a broker: {failure}", err=True)


def _failure(client: ClusterClient) -> ClientFailure | None:
    failure = client.metadata_updater.last_failure
    if client.metadata_updater.pool.connections() or not isinstance(failure, ConnectFailed | ConnectionLost):
        return None
    return failure
