"""Blocks of producer ids: fetched from the active controller and assigned one by one (AllocateProducerIds, KIP-730)."""

from __future__ import annotations

import asyncio

from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


class ProducerIdBlocks:
    """The broker's current block. When the process ends, unused ids of the block are lost: a gap, never a duplicate."""

    def __init__(self, requests: ControllerChannel, identity: LocalEpochs, request_timeout_ms: int) -> None:
        self._requests = requests
        self._identity = identity
        self._request_timeout_ms = request_timeout_ms
        self._next = 0
        self._end = 0
        self._fetching: asyncio.Task[None] | None = None

    async def next(self) -> int:
        """An unused producer id; KafkaError(COORDINATOR_LOAD_IN_PROGRESS) when the controller returns no block. All
        that wait share one request and its error: without a controller each waits for one timeout."""
        while self._next >= self._end:
            if self._fetching is None:
                self._fetching = asyncio.get_running_loop().create_task(self._fetch())
                self._fetching.add_done_callback(self._fetched)
            await asyncio.shield(self._fetching)
        self._next += 1
        return self._next - 1

    def _fetched(self, task: asyncio.Task[None]) -> None:
        self._fetching = None
        if not task.cancelled():
            task.exception()  # it is that of all that wait; there may be none any more

    async def _fetch(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._identity.node_id, broker_epoch=self._identity.broker_epoch)
        try:
            block: AllocateProducerIdsResponse = await self._requests.request(request, self._request_timeout_ms)
        except KafkaError as error:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS, f"no producer ids: {error}") from error
        if block.error_code != Error.NONE:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS, f"no producer ids: {Error.of(block.error_code).name}")
        self._next, self._end = block.producer_id_start, block.producer_id_start + block.producer_id_len
