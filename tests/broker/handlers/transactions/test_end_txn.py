from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.transactions.end_txn import EndTxnHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.end_txn import EndTxnRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to
from tests.broker.handlers.transactions.coordinators import ScriptedCoordinator

pytestmark = pytest.mark.spec("D5")


def end(coordinator: ScriptedCoordinator, version: int, authorizer: Any = ALLOW_ALL) -> Any:
    body = EndTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=3, committed=True)
    return response_to(EndTxnHandler(coordinator, authorizer), request_of(body, version))


@pytest.mark.parametrize("version", range(6))
def test_the_version_says_what_the_client_knows(version: int) -> None:
    coordinator = ScriptedCoordinator()
    response = end(coordinator, version)
    assert response.error_code == 0
    assert coordinator.calls == [("tx", True, 2 if version == 5 else 0)]
    assert (response.producer_id, response.producer_epoch) == ((7, 4) if version == 5 else (-1, -1))


@pytest.mark.parametrize(("version", "code"), [(1, Error.INVALID_PRODUCER_EPOCH), (2, Error.PRODUCER_FENCED)])
def test_earlier_versions_do_not_have_producer_fenced(version: int, code: Error) -> None:
    assert end(ScriptedCoordinator(Error.PRODUCER_FENCED), version).error_code == code


def test_write_on_the_transactional_id_is_needed() -> None:
    coordinator = ScriptedCoordinator()
    rejected = end(coordinator, 5, acl(("alice", "DESCRIBE", "transactional_id:tx")))
    assert rejected.error_code == Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert end(coordinator, 5, acl(("alice", "WRITE", "transactional_id:tx"))).error_code == 0
    assert len(coordinator.calls) == 1
