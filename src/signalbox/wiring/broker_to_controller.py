"""This broker's requests to the active controller, as implementations of the ports of the packages that send them.

All use the one controller channel, also when this node is the active controller: so all brokers take the same path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse


class ChannelVersions:
    """Implements `broker/routing/advertised_versions.ControllerVersions`: the version ranges of the connected
    controller (F9)."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel
        self._seen: object = None
        self._ranges: Mapping[int, tuple[int, int]] | None = None

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        """Returns the same mapping object as long as the connection is the same."""
        ranges = self._channel.api_ranges
        if ranges is not self._seen:
            self._seen = ranges
            self._ranges = None
            if ranges is not None:
                self._ranges = {key: span for key in ranges if (span := ranges.range_of(key)) is not None}
        return self._ranges


class ChannelAlterPartition:
    """Implements `replication/ports.AlterPartitionSender`."""

    def __init__(self, channel: ControllerChannel, request_timeout_ms: int) -> None:
        self._channel = channel
        self._request_timeout_ms = request_timeout_ms

    def send(
        self, request: AlterPartitionRequest, on_response: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        def take(done: asyncio.Future[Any]) -> None:
            failure = None if done.cancelled() else done.exception()
            if done.cancelled():
                on_response(Error.NETWORK_EXCEPTION)
            elif failure is not None:
                on_response(failure.error if isinstance(failure, KafkaError) else Error.UNKNOWN_SERVER_ERROR)
            else:
                on_response(done.result())

        self._channel.submit(request, self._request_timeout_ms).add_done_callback(take)
