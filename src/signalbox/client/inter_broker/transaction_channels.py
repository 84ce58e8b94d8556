"""Requests of transactions between brokers, this one included: WriteTxnMarkers from a coordinator to the leaders, and
AddPartitionsToTxn from a leader to the coordinators, each on connections of its own.

A connection is opened when there is a request for its broker, and again after it was lost. Nothing is retried here: the
sender of a failed request decides what follows. Versions are negotiated, so brokers of other releases get theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.client.connection.connect_log import ConnectLog
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import ClientFailure

# The inter-broker address of a broker as of now, with the settings of a connection to it; LookupError without one.
Locate = Callable[[int], tuple[Address, ConnectionSettings]]
OnResponse = Callable[[Any], None]  # gets the response, or the exception for which there is none


class TransactionChannels:
    """One channel per broker. Make it in the running loop. `sender` is named in log messages."""

    def __init__(self, locate: Locate, cluster_id: str, sender: str) -> None:
        self._sender = sender
        self._locate = locate
        self._cluster_id = cluster_id
        self._connections: dict[int, ClientConnection] = {}
        self._logs: dict[int, ConnectLog] = {}
        self._requests: set[asyncio.Task[None]] = set()

    def send(self, broker_id: int, request: Any, on_response: OnResponse) -> None:
        """Send to the broker's inter-broker listener. `on_response` gets the response, or the exception for which there
        is none; never before this returns."""
        task = asyncio.get_running_loop().create_task(
            self._request(broker_id, request, on_response), name=f"{self._sender} to broker {broker_id}"
        )
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    def close(self) -> None:
        """Close all channels; `on_response` is not called any more."""
        for task in self._requests:
            task.cancel()
        for connection in self._connections.values():
            connection.close("the broker stops")
        self._connections.clear()

    async def _request(self, broker_id: int, request: Any, on_response: OnResponse) -> None:
        response: Any
        try:
            connection = await self._connection(broker_id)
            response = await connection.request(request)
        except (ClientFailure, LookupError, OSError, ValueError) as failure:
            response = failure
        on_response(response)

    async def _connection(self, broker_id: int) -> ClientConnection:
        address, settings = self._locate(broker_id)
        connection = self._connections.get(broker_id)
        is_usable = connection is not None and connection.is_open and not connection.leaving
        if connection is not None and is_usable and connection.address == address:
            return connection
        if connection is not None and not connection.leaving:  # else it closes by itself after its last response
            connection.close("another address, or lost")
        log = self._logs.setdefault(broker_id, ConnectLog(f"{self._sender} to broker {broker_id}"))
        try:
            connection = await connect(address, settings, Identity(self._cluster_id, broker_id))
        except ClientFailure as failure:
            log.failed(failure)
            raise
        log.succeeded()
        self._connections[broker_id] = connection
        return connection
