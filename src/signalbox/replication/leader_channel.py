"""A fetcher's channel, which reconnects: it opens a connection when there is a request to send.

No request is sent twice: when a connection is lost, all its requests in flight fail with the reason, and the fetcher
decides what follows. The endpoint is looked up for every connection, so a broker that has moved is found.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from signalbox.client.failures import ClientFailure
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.replication.ports import Answered


class OpenChannel(Protocol):
    """One open connection (`client.replica_channel.ReplicaChannel`)."""

    on_closed: Callable[[Any], None] | None

    def version_for(self, api_key: int, max_version: int | None = None) -> int: ...

    def send(self, message: Any, version: int, on_response: Callable[[Any], None], /) -> None: ...

    def close(self, reason: str = ...) -> None: ...


# Connects to a broker's inter-broker endpoint; ClientFailure, OSError, or LookupError if the broker has none now.
Connect = Callable[[int], Awaitable[OpenChannel]]
Request = FetchRequest | ListOffsetsRequest
OnHungUp = Callable[[int], None]


def nobody_cares(broker_id: int) -> None:
    """Default of `on_hung_up`: does nothing."""


class ReconnectingChannel:
    """A `LeaderChannel` over one connection at a time."""

    def __init__(self, broker_id: int, connect: Connect, on_hung_up: OnHungUp = nobody_cares) -> None:
        self._broker_id = broker_id
        self._on_hung_up = on_hung_up
        self._connect = connect
        self._open: OpenChannel | None = None
        self._opening: asyncio.Task[None] | None = None
        self._queued: list[tuple[Request, Answered]] = []
        self._awaiting: deque[Answered] = deque()
        self._closed = False

    def send(self, request: Request, on_answer: Answered) -> None:
        if self._closed:
            return
        if self._open is not None:
            self._send_on(self._open, request, on_answer)
            return
        self._queued.append((request, on_answer))
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(
                self._connect_and_send(), name=f"replica channel to broker {self._broker_id}"
            )

    def reconnect(self) -> None:
        """Close the connection soon, not at once: the caller may be reading a response of it."""
        if self._open is not None:
            asyncio.get_running_loop().call_soon(self._let_go, self._open)

    def close(self) -> None:
        self._closed = True
        self._queued.clear()
        self._awaiting.clear()
        if self._opening is not None:
            self._opening.cancel()
        if self._open is not None:
            self._open.close("the fetcher has stopped")
            self._open = None

    def _let_go(self, channel: OpenChannel) -> None:
        if self._open is channel:
            self._open = None
            channel.close("the leader does not take this broker's requests on the listener")
            self._fail(ConnectionError("reconnecting"))

    async def _connect_and_send(self) -> None:
        try:
            channel = await self._connect(self._broker_id)
        except (ClientFailure, OSError, LookupError) as error:
            self._opening = None
            self._fail(error)
            return
        self._opening = None
        if self._closed:
            channel.close("the fetcher has stopped")
            return
        channel.on_closed = self._lost
        self._open = channel
        queued, self._queued = self._queued, []
        for request, on_answer in queued:
            self._send_on(channel, request, on_answer)

    def _send_on(self, channel: OpenChannel, request: Request, on_answer: Answered) -> None:
        self._awaiting.append(on_answer)
        channel.send(request, channel.version_for(request.api_key or 0), self._answer)

    def _answer(self, response: Any) -> None:
        self._awaiting.popleft()(response)

    def _lost(self, reason: Any) -> None:
        self._open = None
        if not self._closed:
            self._on_hung_up(self._broker_id)
        self._fail(reason if isinstance(reason, Exception) else ConnectionError(str(reason)))

    def _fail(self, reason: Exception) -> None:
        failed = [*self._awaiting, *(on_answer for _, on_answer in self._queued)]
        self._awaiting.clear()
        self._queued.clear()
        for on_answer in failed:
            on_answer(reason)


class ReconnectingChannels:
    """`LeaderChannels` over a function that connects to a broker's inter-broker endpoint. `on_hung_up` is called for
    every open connection that is lost."""

    def __init__(self, connect: Connect, on_hung_up: OnHungUp = nobody_cares) -> None:
        self._connect = connect
        self._on_hung_up = on_hung_up

    def open(self, broker_id: int) -> ReconnectingChannel:
        return ReconnectingChannel(broker_id, self._connect, self._on_hung_up)
