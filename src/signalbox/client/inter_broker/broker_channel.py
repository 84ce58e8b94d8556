"""Controller → broker: one queue and one connection per broker, strictly in order.

One request is in flight, or two: an UpdateMetadata is sent with the LeaderAndIsr before it, in one write if both are
queued. A broker executes the requests of a connection one after the other. No other pair: a request that is retried
comes after the one behind it, and only this pair may be executed in either order, and twice (decision 0044).

A request stays in the queue until its broker has returned a response. After a lost connection the channel reconnects
and sends all that had no response again, without limit, until the broker is removed. REQUEST_TIMED_OUT is retried too,
with the request behind it: a broker returns it when it cannot compare the request's epochs with the metadata store
(`broker/epoch_checks.py`). Epochs in the requests make the retries harmless. Versions are fixed, without negotiation.
The channel connects before there is a request to send, and again at once when the connection is lost. A failed TCP
connect is a hint that the controller may act on (`on_unreachable`); a missing response is not.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from signalbox.client.connection.connect_log import ConnectLog
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Identity, Node
from signalbox.client.connection.wire_frames import Chunk
from signalbox.client.failures import ClientFailure, ConnectFailed, Misrouted
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import EncodeError
from signalbox.protocol.error_table import Error

CONTROL_VERSIONS = {ApiKey.LEADER_AND_ISR: 7, ApiKey.UPDATE_METADATA: 8, ApiKey.STOP_REPLICA: 4}
_PIPELINED = [ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA]  # the only two requests that are in flight together
_RETRY_AFTER_SECONDS = 0.1
_RETRY_AFTER_FAULT_SECONDS = 1.0

log = logging.getLogger("signalbox.client.inter_broker.broker_channel")

UnreachableCallback = Callable[[int, bool], None]  # the broker id, and whether the channel was ever connected


class BrokerChannel:
    """The channel to one broker. `node` has its control endpoint; `cluster_id` is the cluster that it must be in."""

    def __init__(
        self,
        node: Node,
        cluster_id: str | None,
        settings: ConnectionSettings,
        on_unreachable: UnreachableCallback | None = None,
    ) -> None:
        self.node = node
        self.misroutes = 0
        self.sent = 0
        self._identity = Identity(cluster_id, node.node_id) if cluster_id is not None else None
        self._settings = settings
        self._connect_log = ConnectLog(f"controller to broker {node.node_id}")
        self._on_unreachable = on_unreachable
        self._queue: deque[tuple[Any, asyncio.Future[Any]]] = deque()
        self._wakeup = asyncio.Event()
        self._connection: ClientConnection | None = None
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"channel to broker {node.node_id}")

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def send(self, message: Any) -> asyncio.Future[Any]:
        """Queue `message`; the future gets the response, or EncodeError. Cancelled when the channel is closed first."""
        promise: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._task.done():
            promise.cancel()
            return promise
        self._queue.append((message, promise))
        self._wakeup.set()
        return promise

    async def close(self) -> None:
        """Stop; queued requests are cancelled."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._connection is not None:
            self._connection.close("the channel is closed")
        while self._queue:
            self._queue.popleft()[1].cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection = await self._connected()
                opened_at = loop.time()
                await self._work(connection)
                if loop.time() - opened_at < _RETRY_AFTER_SECONDS:
                    await asyncio.sleep(_RETRY_AFTER_SECONDS)
            except ClientFailure as failure:
                self._note(failure)
                await asyncio.sleep(_RETRY_AFTER_SECONDS)
            except Exception:
                # An error in our code must not end the channel: its broker would get no more requests.
                log.exception("Channel to broker %d (%s) failed unexpectedly", self.node.node_id, self.node.address)
                if self._connection is not None:
                    self._connection.close("the channel failed")  # a response may be on its way
                await asyncio.sleep(_RETRY_AFTER_FAULT_SECONDS)

    async def _connected(self) -> ClientConnection:
        if self._connection is None or not self._connection.is_open:
            self._connection = await connect(
                self.node.address, self._settings.secured(self.node.security), self._identity
            )
            self._connection.on_closed(self._wakeup.set)
            self._connect_log.succeeded()
        return self._connection

    async def _work(self, connection: ClientConnection) -> None:
        """Send queued requests until the connection ends; returns when it ended while idle."""
        in_flight: deque[asyncio.Future[Chunk]] = deque()  # responses to the first requests of the queue
        while in_flight or connection.is_open:
            self._wakeup.clear()
            with connection.one_write():
                self._write(connection, in_flight)
            if not in_flight or not in_flight[0].done():
                await self._wakeup.wait()
            elif not self._complete(connection, in_flight.popleft().result()):
                await asyncio.gather(*in_flight)  # this request comes first again
                in_flight.clear()
                await asyncio.sleep(_RETRY_AFTER_SECONDS)

    def _write(self, connection: ClientConnection, in_flight: deque[asyncio.Future[Chunk]]) -> None:
        """Send the next request, and the one behind it, if they need not wait for a response."""
        while connection.is_open and self._may_send(len(in_flight)):
            message, promise = self._queue[len(in_flight)]
            if not promise.cancelled():
                try:
                    response = connection.send(message, CONTROL_VERSIONS[message.api_key])
                except EncodeError as error:  # a retry would not help, and the other requests wait behind it
                    promise.set_exception(error)
                else:
                    response.add_done_callback(lambda _: self._wakeup.set())
                    in_flight.append(response)
                    continue
            del self._queue[len(in_flight)]

    def _may_send(self, in_flight: int) -> bool:
        if in_flight >= len(self._queue):
            return False
        keys = [message.api_key for message, _ in islice(self._queue, in_flight + 1)]
        return in_flight == 0 or keys == _PIPELINED

    def _complete(self, connection: ClientConnection, payload: Chunk) -> bool:
        """Pass the response to the first request on; False if the broker asks for a retry."""
        message, promise = self._queue[0]
        response = connection.decode(message, CONTROL_VERSIONS[message.api_key], payload)
        if getattr(response, "error_code", 0) == Error.REQUEST_TIMED_OUT:
            return False
        self.sent += 1
        if not promise.done():
            promise.set_result(response)
        self._queue.popleft()
        return True

    def _note(self, failure: ClientFailure) -> None:
        """Count misroutes (129 here only means a wrong route to that broker) and report a failed TCP connect."""
        self._connect_log.failed(failure)
        if isinstance(failure, Misrouted):
            self.misroutes += 1
        rejected = isinstance(failure, ConnectFailed) and failure.stage == "tcp"
        if rejected and self._on_unreachable is not None:
            self._on_unreachable(self.node.node_id, self._connection is not None)
