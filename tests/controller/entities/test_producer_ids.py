"""Blocks of producer ids: no block is allocated twice."""

from __future__ import annotations

import pytest

from signalbox.controller.decision import Decision
from signalbox.controller.entities.producer_ids import allocate_producer_ids
from signalbox.metadata.entries.producer_id_block import BLOCK_SIZE, ProducerIdBlock
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context


def response_of(decision: Decision) -> AllocateProducerIdsResponse:
    assert isinstance(decision.response, AllocateProducerIdsResponse)
    return decision.response


def test_blocks_follow_each_other() -> None:
    context, starts = make_context(1, 2), []
    for broker_id in (1, 2, 1):
        request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_id * 100)
        decision = allocate_producer_ids(context, inputs(), request)
        response = response_of(decision)
        assert (response.error_code, response.producer_id_len) == (Error.NONE, BLOCK_SIZE)
        starts.append(response.producer_id_start)
        context = after(context, decision)
    assert starts == [0, 1_000, 2_000]
    assert (context.producer_id_block, context.producer_id_version) == (ProducerIdBlock(1, 2_000, 2_999), 3)


@pytest.mark.parametrize(
    ("broker_id", "broker_epoch", "error"),
    [(9, 900, Error.BROKER_ID_NOT_REGISTERED), (1, 99, Error.STALE_BROKER_EPOCH), (1, 101, Error.STALE_BROKER_EPOCH)],
)
def test_rejections(broker_id: int, broker_epoch: int, error: Error) -> None:
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch)
    decision = allocate_producer_ids(make_context(1), inputs(), request)
    assert (response_of(decision).error_code, decision.records) == (error, ())


def test_the_last_id_is_not_passed() -> None:
    last = ProducerIdBlock(1, 2**63 - 1_000, 2**63 - 1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=100)
    decision = allocate_producer_ids(make_context(1, producer_id_block=last), inputs(), request)
    assert response_of(decision).error_code == Error.UNKNOWN_SERVER_ERROR
