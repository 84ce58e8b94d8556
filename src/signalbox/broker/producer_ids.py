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
        self._fetching = asyncio.Lock()

    async def next(self) -> int:
        """An unused producer id; KafkaError(COORDINATOR_LOAD_IN_PROGRESS) when the controller returns no block."""
        while self._next >= self._end:
            async with self._fetching:
                if self._next >= self._end:
                    await self._fetch()
        self._next += 1
        return self._next - 1

    async def _fetch(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._identity.node_id, broker_epoch=self._identity.broker_epoch)
        try:
            block: AllocateProducerIdsResponse = await self._requests.request(request, self._request_timeout_ms)
        except KafkaError as error:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS, f"no producer ids: {error}") from error
        if block.error_code != Error.NONE:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS, f"no producer ids: {Error.of(block.error_code).name}")
        self._next, self._end = block.producer_id_start, block.producer_id_start + block.producer_id_len
