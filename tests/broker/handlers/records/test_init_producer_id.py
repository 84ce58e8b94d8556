"""InitProducerId: ids for idempotent producers that may write to at least one topic."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.records.init_producer_id import InitProducerIdHandler
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to


class Ids(ProducerIdBlocks):
    def __init__(self, *trouble: KafkaError) -> None:
        self._trouble = list(trouble)

    async def next(self) -> int:
        if self._trouble:
            raise self._trouble.pop()
        return 42


class Transactions(TransactionCoordinator):
    """A coordinator that gives every transactional id the producer id 7, epoch 3; or an error."""

    def __init__(self, error: Error) -> None:
        self._error = error

    def init_producer_id(self, request: InitProducerIdRequest) -> Promise[InitProducerIdResponse]:
        if self._error:
            return Promise.of(InitProducerIdResponse(error_code=self._error, producer_epoch=-1))
        return Promise.of(InitProducerIdResponse(producer_id=7, producer_epoch=3))


def ask(version: int, authorizer: Any = ALLOW_ALL, ids: Ids | None = None, **fields: Any) -> tuple[int, int, int]:
    transactions = Transactions(fields.pop("error", Error.NONE))
    body = InitProducerIdRequest(**{"transactional_id": None, **fields})
    handler = InitProducerIdHandler(ids or Ids(), transactions, authorizer)
    response = response_to(handler, request_of(body, version))
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_an_id_with_epoch_0(version: int) -> None:
    assert ask(version) == (0, 42, 0)


@pytest.mark.parametrize(
    ("authorizer", "code"),
    [
        (acl(("alice", "IDEMPOTENT_WRITE", "cluster")), 0),
        (acl(("alice", "WRITE", "any topic")), 0),
        (acl(("alice", "READ", "any topic")), Error.CLUSTER_AUTHORIZATION_FAILED),
        (acl(("bob", "WRITE", "any topic")), Error.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_authorization(authorizer: Any, code: int) -> None:
    assert ask(4, authorizer)[0] == code


def test_a_transactional_id_is_not_empty() -> None:
    assert ask(4, transactional_id="") == (Error.INVALID_REQUEST, -1, -1)


@pytest.mark.spec("D5")
def test_a_transactional_producer_gets_its_id_and_epoch_from_the_coordinator() -> None:
    assert ask(4, transactional_id="tx") == (0, 7, 3)
    rejected = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert ask(4, acl(("alice", "WRITE", "transactional_id:tx")), transactional_id="tx") == (0, 7, 3)
    assert ask(4, acl(("alice", "DESCRIBE", "transactional_id:tx")), transactional_id="tx")[0] == rejected
    assert ask(4, acl(("alice", "WRITE", "tx")), transactional_id="tx")[0] == rejected


@pytest.mark.spec("D5")
@pytest.mark.parametrize(("version", "code"), [(3, Error.INVALID_PRODUCER_EPOCH), (4, Error.PRODUCER_FENCED)])
def test_earlier_versions_do_not_have_producer_fenced(version: int, code: Error) -> None:
    assert ask(version, transactional_id="tx", error=Error.PRODUCER_FENCED) == (code, -1, -1)


@pytest.mark.parametrize(
    ("producer_id", "epoch", "response"),
    [
        (55, -1, (Error.INVALID_REQUEST, -1, -1)),
        (-1, 3, (Error.INVALID_REQUEST, -1, -1)),
        (55, 3, (0, 42, 0)),
        (-1, -1, (0, 42, 0)),
    ],
)
def test_a_producer_id_and_epoch_in_the_request(producer_id: int, epoch: int, response: tuple[int, int, int]) -> None:
    assert ask(3, producer_id=producer_id, producer_epoch=epoch) == response


def test_authorization_comes_first() -> None:
    assert ask(3, acl(("bob", "WRITE", "t")), producer_id=55)[0] == Error.CLUSTER_AUTHORIZATION_FAILED


def test_no_block_to_be_had() -> None:
    assert ask(4, ids=Ids(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))) == (14, -1, -1)
