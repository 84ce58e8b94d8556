from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.transactions.describe_transactions import (
    DescribeTransactionsHandler,
    ListTransactionsHandler,
)
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_transactions import DescribeTransactionsRequest
from signalbox.protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of, response_to
from tests.broker.handlers.transactions.coordinators import ScriptedCoordinator

pytestmark = pytest.mark.spec("D5")
RIGHTS = acl(("alice", "DESCRIBE", "transactional_id:orders-1"), ("alice", "DESCRIBE", "t"))


def test_only_ids_and_topics_that_may_be_described() -> None:
    body = DescribeTransactionsRequest(transactional_ids=["orders-1", "bills"])
    response = response_to(DescribeTransactionsHandler(ScriptedCoordinator(), RIGHTS), request_of(body, 0))
    assert [
        (row.transactional_id, row.error_code, [topic.topic for topic in row.topics])
        for row in response.transaction_states
    ] == [("orders-1", 0, ["t"]), ("bills", Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, [])]


def listed(body: ListTransactionsRequest, version: int = 2, authorizer: object = ALLOW_ALL) -> list[str]:
    handler = ListTransactionsHandler(ScriptedCoordinator(), authorizer)  # type: ignore[arg-type]
    response = response_to(handler, request_of(body, version))
    assert response.error_code == 0
    return [row.transactional_id for row in response.transaction_states]


def test_the_list_leaves_out_ids_that_may_not_be_described() -> None:
    assert listed(ListTransactionsRequest(), 0) == ["orders-1", "orders-2", "bills"]
    assert listed(ListTransactionsRequest(), 0, RIGHTS) == ["orders-1"]


def test_the_list_filters_by_a_pattern() -> None:
    assert listed(ListTransactionsRequest(transactional_id_pattern="orders-.*")) == ["orders-1", "orders-2"]
    assert listed(ListTransactionsRequest(transactional_id_pattern="orders-.*"), authorizer=RIGHTS) == ["orders-1"]


def test_unknown_states_and_patterns_that_are_not_supported() -> None:
    handler = ListTransactionsHandler(ScriptedCoordinator(), ALLOW_ALL)
    body = ListTransactionsRequest(state_filters=["Ongoing", "Sleeping"])
    assert response_to(handler, request_of(body, 0)).unknown_state_filters == ["Sleeping"]
    invalid = response_to(handler, request_of(ListTransactionsRequest(transactional_id_pattern="(a+)+"), 2))
    assert invalid.error_code == Error.INVALID_REGULAR_EXPRESSION


def test_many_ids_are_described_in_slices() -> None:
    body = DescribeTransactionsRequest(transactional_ids=["orders-1"] * 500)
    handler, responses = DescribeTransactionsHandler(ScriptedCoordinator(), RIGHTS), list[Any]()
    request = request_of(body, 0)
    task = CooperativeTask(lambda: responses.append(handler(request)))
    slices = 0
    while not task.dead:
        task.run_slice(0)
        slices += 1
    assert slices > 1_000
    assert len(responses[0].result().transaction_states) == 500
