"""Metadata from the bootstrap servers: one round over their addresses, names resolved again, no identity sent.

Every IP address of a bootstrap server's name is a candidate of its own, because the name may cover several brokers, and
some of them may have moved to another cluster. The connections of a round are separate and are closed at its end: a
rebootstrap does not reuse connections to the brokers known before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.connection.stream_opener import resolve
from signalbox.client.failures import ClientFailure, ConnectFailed
from signalbox.client.rejections import is_final
from signalbox.protocol.messages.metadata import MetadataRequest

log = logging.getLogger("signalbox.client")

_RESOLVE_TIMEOUT_SECONDS = 5.0


class Seeds:
    """The bootstrap servers. Each round begins with another one, so that load and trust are spread.

    `last_failure` is the last one of any server; `final_failure` that of the last round, when every server rejected the
    client for good: wrong credentials, no common version."""

    def __init__(self, addresses: list[Address], settings: ConnectionSettings) -> None:
        self._addresses = addresses
        self._settings = settings
        self._first = 0
        self.last_failure: ClientFailure | None = None
        self.final_failure: ClientFailure | None = None

    async def ask(self, request: MetadataRequest, timeout_ms: float) -> AsyncGenerator[tuple[Address, Any], None]:
        """(address, MetadataResponse) of every server that responds, in turn; the caller stops when one is accepted."""
        self._first = (self._first + 1) % len(self._addresses)
        self.final_failure = None
        rejected_by_all = True
        for address in self._addresses[self._first :] + self._addresses[: self._first]:
            ips = await self._resolved(address)
            rejected_by_all = rejected_by_all and bool(ips)
            for ip in ips:
                try:
                    response = await self._metadata_of(address, ip, request, timeout_ms)
                    rejected_by_all = False
                    yield address, response
                except ClientFailure as failure:
                    self.last_failure = failure
                    rejected_by_all = rejected_by_all and is_final(failure)
                    log.info("Bootstrap server %s returned no metadata: %s", address, failure)
        if rejected_by_all:
            self.final_failure = self.last_failure

    async def _resolved(self, address: Address) -> list[str]:
        try:
            async with asyncio.timeout(_RESOLVE_TIMEOUT_SECONDS):
                return await resolve(address)
        except TimeoutError:
            self.last_failure = ConnectFailed(address, "resolve", "the name server did not answer in time")
        except ConnectFailed as failure:
            self.last_failure = failure
        log.info("Bootstrap server ignored: %s", self.last_failure)
        return []

    async def _metadata_of(self, address: Address, ip: str, request: MetadataRequest, timeout_ms: float) -> Any:
        connection: ClientConnection | None = None
        try:
            connection = await connect(address, self._settings, resolved=[ip])
            return await connection.request(request, timeout_ms=timeout_ms)
        finally:
            if connection is not None:
                connection.close("bootstrap is over")
