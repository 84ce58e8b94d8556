"""InitProducerId: ids for idempotent producers that may write to at least one topic."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.records.init_producer_id import InitProducerIdHandler
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to


class Ids(ProducerIdBlocks):
    def __init__(self, *trouble: KafkaError) -> None:
        self._trouble = list(trouble)

    async def next(self) -> int:
        if self._trouble:
            raise self._trouble.pop()
        return 42


def ask(version: int, authorizer: Any = ALLOW_ALL, ids: Ids | None = None, **fields: Any) -> tuple[int, int, int]:
    body = InitProducerIdRequest(**{"transactional_id": None, **fields})
    response = response_to(InitProducerIdHandler(ids or Ids(), authorizer), request_of(body, version))
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


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("transactional_id", "error"), [("tx", Error.UNSUPPORTED_VERSION), ("", Error.INVALID_REQUEST)]
)
def test_a_transactional_id_is_a_final_error(transactional_id: str, error: Error) -> None:
    assert ask(4, transactional_id=transactional_id) == (error, -1, -1)


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
