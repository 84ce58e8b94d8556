"""AllocateProducerIds as a decision: the next block of a thousand ids, stored before it is returned (KIP-98)."""

from __future__ import annotations

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.records import ProducerIdsAllocated
from signalbox.metadata.entries.producer_id_block import BLOCK_SIZE, ProducerIdBlock
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

_LAST_PRODUCER_ID = 2**63 - 1


def allocate_producer_ids(context: ControllerContext, inputs: Inputs, request: AllocateProducerIdsRequest) -> Decision:
    """A block for a registered broker that sends exactly its own broker epoch."""
    broker = context.brokers.get(request.broker_id)
    if broker is None:
        return _rejected(Error.BROKER_ID_NOT_REGISTERED)
    if broker.broker_epoch != request.broker_epoch:
        return _rejected(Error.STALE_BROKER_EPOCH)
    last = context.producer_id_block
    first = 0 if last is None else last.last + 1
    if first > _LAST_PRODUCER_ID - BLOCK_SIZE:
        return _rejected(Error.UNKNOWN_SERVER_ERROR)
    block = ProducerIdBlock(request.broker_id, first, first + BLOCK_SIZE - 1)
    response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision(records=(ProducerIdsAllocated(block),), response=response)


def _rejected(error: Error) -> Decision:
    return Decision(response=AllocateProducerIdsResponse(error_code=error))
