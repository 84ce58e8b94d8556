"""A fetcher's channel, which reconnects: it opens a connection when there is a request to send.

No request is sent twice: when a connection is lost, all its requests in flight fail with the reason, and the fetcher
decides what follows. The endpoint is looked up for every connection, so a broker that has moved is found.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from signalbox.client.failures import ClientFailure
from signalbox.client.inter_broker.replica_channel import ReplicaChannel
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest

# Connects to a broker's inter-broker endpoint; ClientFailure, OSError, or LookupError if the broker has none now.
Connect = Callable[[int], Awaitable[ReplicaChannel]]
Request = FetchRequest | ListOffsetsRequest
OnResponse = Callable[[Any | Exception], None]
OnDisconnect = Callable[[int], None]


def ignore_disconnect(broker_id: int) -> None:
    """Default of `on_disconnect`: does nothing."""


class ReconnectingChannel:
    """A fetcher's channel to one leader broker, over one connection at a time: requests and responses in order, on the
    data loop."""

    def __init__(self, broker_id: int, connect: Connect, on_disconnect: OnDisconnect = ignore_disconnect) -> None:
        self._broker_id = broker_id
        self._on_disconnect = on_disconnect
        self._connect = connect
        self._channel: ReplicaChannel | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._queued: list[tuple[Request, OnResponse]] = []
        self._awaiting: deque[OnResponse] = deque()
        self._closed = False

    def send(self, request: Request, on_response: OnResponse) -> None:
        """`on_response` gets the response message, or the exception for which there is none (not connected, closed,
        timed out); never before this returns. Record fields of a response are valid during the call only."""
        if self._closed:
            return
        if self._channel is not None:
            self._send_on(self._channel, request, on_response)
            return
        self._queued.append((request, on_response))
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(
                self._connect_and_send(), name=f"replica channel to broker {self._broker_id}"
            )

    def reconnect(self) -> None:
        """Close the connection soon, not at once: the caller may be reading a response of it. The next request opens
        another to the broker's endpoint of that time."""
        if self._channel is not None:
            asyncio.get_running_loop().call_soon(self._disconnect, self._channel)

    def close(self) -> None:
        """Close the channel; `on_response` is not called any more."""
        self._closed = True
        self._queued.clear()
        self._awaiting.clear()
        if self._connecting is not None:
            self._connecting.cancel()
        if self._channel is not None:
            self._channel.close("the fetcher has stopped")
            self._channel = None

    def _disconnect(self, channel: ReplicaChannel) -> None:
        if self._channel is channel:
            self._channel = None
            channel.close("the leader does not accept this broker's requests on the listener")
            self._fail(ConnectionError("reconnecting"))

    async def _connect_and_send(self) -> None:
        try:
            channel = await self._connect(self._broker_id)
        except (ClientFailure, OSError, LookupError) as error:
            self._connecting = None
            self._fail(error)
            return
        self._connecting = None
        if self._closed:
            channel.close("the fetcher has stopped")
            return
        channel.on_closed = self._on_closed
        self._channel = channel
        queued, self._queued = self._queued, []
        for request, on_response in queued:
            self._send_on(channel, request, on_response)

    def _send_on(self, channel: ReplicaChannel, request: Request, on_response: OnResponse) -> None:
        self._awaiting.append(on_response)
        channel.send(request, channel.version_for(request.api_key or 0), self._on_response)

    def _on_response(self, response: Any) -> None:
        self._awaiting.popleft()(response)

    def _on_closed(self, reason: Any) -> None:
        self._channel = None
        if not self._closed:
            self._on_disconnect(self._broker_id)
        self._fail(reason if isinstance(reason, Exception) else ConnectionError(str(reason)))

    def _fail(self, reason: Exception) -> None:
        failed = [*self._awaiting, *(on_response for _, on_response in self._queued)]
        self._awaiting.clear()
        self._queued.clear()
        for on_response in failed:
            on_response(reason)


class ReconnectingChannels:
    """Channels to leaders; `connect` connects to a broker's inter-broker endpoint. `on_disconnect` is called for every
    open connection that is lost."""

    def __init__(self, connect: Connect, on_disconnect: OnDisconnect = ignore_disconnect) -> None:
        self._connect = connect
        self._on_disconnect = on_disconnect

    def open(self, broker_id: int) -> ReconnectingChannel:
        """A channel that connects and reconnects automatically."""
        return ReconnectingChannel(broker_id, self._connect, self._on_disconnect)
